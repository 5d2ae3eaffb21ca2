// The method as a point in the plane: click, drag, arrow keys; and the numbers under the cursor.
(function (ravine) {
  "use strict";

  const { byId } = ravine;
  let dragging = false;
  let waiting = null; // the latest place of the pointer, until the next frame

  ravine.placePoint = function () {
    const { frame } = ravine.pictures.plane;
    const knob = byId("knob");
    if (!frame || !knob) return;
    const { step, beta } = ravine.settings;
    const left = frame.x.at(Number(step));
    const top = frame.y.at(Number(beta));
    const { inner } = frame;
    const inside = left >= inner.left && left <= inner.left + inner.width && isFinite(top);
    knob.style.display = inside ? "block" : "none";
    knob.style.transform = `translate(${left}px, ${top}px)`;
    knob.setAttribute("aria-valuetext", `step size ${step}, momentum ${beta}`);
    knob.setAttribute("aria-valuenow", step);
  };

  function under(event) {
    const { frame } = ravine.pictures.plane;
    if (!frame) return null;
    const box = byId("plane-wrap").getBoundingClientRect();
    const [left, top] = [event.clientX - box.left, event.clientY - box.top];
    const { inner, x, y } = frame;
    const across = left >= inner.left && left <= inner.left + inner.width;
    const upward = top >= inner.top && top <= inner.top + inner.height;
    if (!across || !upward) return null;
    return { step: Number(x.back(left).toPrecision(4)), beta: Number(y.back(top).toPrecision(4)) };
  }

  function moveTo({ step, beta }) {
    ravine.put({ step: String(step), beta: String(beta) });
  }

  let cursor = null;
  const askCursor = ravine.latest(
    () => ({ settings: ravine.settings, cursor }),
    (answer) => ravine.writeCursor(answer.cursor),
    () => {} // the next move of the cursor asks again
  );

  function onMove(event) {
    const place = under(event);
    if (!place) return;
    if (waiting === null) {
      window.requestAnimationFrame(() => {
        const latest = waiting;
        waiting = null;
        if (dragging) moveTo(latest);
        else {
          cursor = latest;
          askCursor();
        }
      });
    }
    waiting = place;
  }

  const DIRECTIONS = {
    ArrowLeft: [-1, 0],
    ArrowRight: [1, 0],
    ArrowDown: [0, -1],
    ArrowUp: [0, 1],
  };

  function onKey(event) {
    const direction = DIRECTIONS[event.key];
    if (!direction) return;
    event.preventDefault();
    const size = event.shiftKey ? 0.001 : 0.01;
    const { settings } = ravine;
    const step = Number(settings.step);
    const log = settings.axis === "log";
    const along = log ? step * (1 + 5 * size * direction[0]) : step + size * direction[0];
    const upward = Number(settings.beta) + size * direction[1];
    moveTo({
      step: Number(Math.max(along, 1e-6).toPrecision(6)),
      beta: Number(Math.min(1, Math.max(-1, upward)).toFixed(6)),
    });
  }

  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("#plane-wrap")) return;
    const place = under(event);
    if (!place) return;
    dragging = true;
    byId("knob").focus({ preventScroll: true });
    moveTo(place);
    event.preventDefault();
  });
  document.addEventListener("pointermove", (event) => {
    if (dragging || event.target.closest("#plane-wrap")) onMove(event);
  });
  document.addEventListener("pointerup", () => (dragging = false));
  document.addEventListener("pointercancel", () => (dragging = false));
  document.addEventListener("keydown", (event) => {
    if (document.activeElement && document.activeElement.id === "knob") onKey(event);
  });
})((window.ravine = window.ravine || {}));
