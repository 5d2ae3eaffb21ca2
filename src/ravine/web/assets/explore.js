// Carries inputs to Python and pictures back. No formula of the library is written here.
(function () {
  "use strict";

  const NUMBERS = ["Q", "step", "beta", "sigma2", "K", "n", "ratio", "batch", "seed"];
  const CHOICES = ["room", "colour", "axis", "sampling", "example", "gamma"];
  const LOGARITHMIC = new Set(["Q", "K", "n", "ratio", "batch"]);
  const WHOLE = new Set(["K", "n", "batch", "seed"]);
  // What the picture of the plane depends on, besides the light it is seen in.
  const GROUND = ["Q", "axis", "colour", "sigma2", "K", "n", "ratio", "batch", "gamma"];
  const REST = 170; // milliseconds without a change before the fine picture is asked for

  const set = (id, props) => window.dash_clientside.set_props(id, props);
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const short = (value) => String(Number(value.toPrecision(6)));

  let ground = null;
  let resting = null;
  let settings = {};

  function slot(name) {
    return `box-${name}`;
  }

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.ravine = {
    // A slider and its box show the same number.
    couple: function (box, slide) {
      const none = window.dash_clientside.no_update;
      const trigger = window.dash_clientside.callback_context.triggered_id || "";
      const name = trigger.replace(/^(box|slide)-/, "");
      if (trigger.startsWith("slide-")) {
        let value = LOGARITHMIC.has(name) ? 10 ** Number(slide) : Number(slide);
        if (WHOLE.has(name)) value = Math.round(value);
        return [short(value), none];
      }
      const value = Number(box);
      if (box === "" || !isFinite(value) || (LOGARITHMIC.has(name) && value <= 0)) {
        return [none, none];
      }
      const place = LOGARITHMIC.has(name) ? Math.log10(value) : value;
      return Math.abs(place - Number(slide)) < 1e-9 ? [none, none] : [none, place];
    },

    gather: function (...values) {
      const all = {};
      NUMBERS.forEach((name, i) => (all[name] = values[i]));
      CHOICES.forEach((name, i) => (all[name] = values[NUMBERS.length + i]));
      settings = all;
      placeKnob();
      showRoom(all.room);
      return all;
    },

    // The plane is asked for again only when it changes; coarse at once, fine when it rests.
    split: function (all, theme) {
      const none = window.dash_clientside.no_update;
      if (!all) return [none, none];
      const wish = { theme, settings: {} };
      GROUND.forEach((name) => (wish.settings[name] = all[name]));
      const point = { settings: all, theme };
      if (same(wish, ground)) return [none, point];
      const first = ground === null;
      ground = wish;
      clearTimeout(resting);
      if (first) return [{ ...wish, fine: true }, point];
      resting = setTimeout(() => set("ground", { data: { ...wish, fine: true } }), REST);
      return [{ ...wish, fine: false }, point];
    },
  };

  function showRoom(room) {
    for (const name of ["plane", "data", "claims"]) {
      const place = document.getElementById(`room-${name}`);
      if (place) place.hidden = name !== room;
    }
    if (room === "plane") window.dispatchEvent(new Event("resize"));
  }

  // --- the point in the plane -------------------------------------------------------------

  function graph() {
    return document.querySelector("#plane .js-plotly-plot");
  }

  function axes() {
    const drawn = graph();
    const layout = drawn && drawn._fullLayout;
    return layout && layout.xaxis && layout.xaxis._length ? [layout.xaxis, layout.yaxis] : null;
  }

  function placeKnob() {
    const pair = axes();
    const knob = document.getElementById("knob");
    if (!pair || !knob) return;
    const [x, y] = pair;
    const step = Number(settings.step);
    const beta = Number(settings.beta);
    const left = x._offset + x.d2p(step);
    const top = y._offset + y.d2p(beta);
    const inside = left >= x._offset && left <= x._offset + x._length && isFinite(top);
    knob.style.display = inside ? "block" : "none";
    knob.style.transform = `translate(${left}px, ${top}px)`;
    knob.setAttribute("aria-valuetext", `step size ${settings.step}, momentum ${settings.beta}`);
    knob.setAttribute("aria-valuenow", settings.step);
  }

  function under(event) {
    const pair = axes();
    if (!pair) return null;
    const [x, y] = pair;
    const frame = graph().getBoundingClientRect();
    const px = event.clientX - frame.left - x._offset;
    const py = event.clientY - frame.top - y._offset;
    if (px < 0 || py < 0 || px > x._length || py > y._length) return null;
    return { step: Number(x.p2d(px).toPrecision(4)), beta: Number(y.p2d(py).toPrecision(4)) };
  }

  function moveTo(place) {
    // The next key may come before Dash has passed this one on.
    settings = { ...settings, step: String(place.step), beta: String(place.beta) };
    placeKnob();
    set(slot("step"), { value: String(place.step) });
    set(slot("beta"), { value: String(place.beta) });
  }

  let dragging = false;
  let waiting = null;

  function onMove(event) {
    const place = under(event);
    if (!place) return;
    if (waiting === null) {
      window.requestAnimationFrame(() => {
        const latest = waiting;
        waiting = null;
        if (dragging) moveTo(latest);
        else set("cursor", { data: latest });
      });
    }
    waiting = place;
  }

  function onKey(event) {
    const directions = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowDown: [0, -1],
      ArrowUp: [0, 1],
    };
    const direction = directions[event.key];
    if (!direction) return;
    event.preventDefault();
    const size = event.shiftKey ? 0.001 : 0.01;
    const log = settings.axis === "log";
    const step = Number(settings.step);
    const along = log ? step * (1 + 5 * size * direction[0]) : step + size * direction[0];
    moveTo({
      step: Number(Math.max(along, 1e-6).toPrecision(6)),
      beta: Number(Math.min(1, Math.max(-1, Number(settings.beta) + size * direction[1])).toFixed(6)),
    });
  }

  // --- pictures to take away --------------------------------------------------------------

  function save(format) {
    const drawn = graph();
    const point = {
      type: "scatter", mode: "markers", x: [Number(settings.step)], y: [Number(settings.beta)],
      marker: { size: 15, color: "#e69f00", line: { width: 2, color: "#000000" } },
      showlegend: false,
    };
    const layout = { ...drawn.layout, paper_bgcolor: drawn.layout.plot_bgcolor && "#ffffff" };
    window.Plotly.downloadImage(
      { data: [...drawn.data, point], layout },
      { format, width: 900, height: 760, filename: "ravine-plane" }
    );
  }

  // --- playing the path -------------------------------------------------------------------

  let frame = 12;

  function play(by) {
    frame = by === 0 ? 0 : frame >= 60 ? 0 : frame + by;
    set("frame", { data: frame });
  }

  let timer = null;

  function togglePlay(button) {
    if (timer !== null) {
      clearInterval(timer);
      timer = null;
      button.textContent = "play";
      return;
    }
    button.textContent = "pause";
    timer = setInterval(() => play(1), 220);
  }

  // --- wiring -----------------------------------------------------------------------------

  function light(name) {
    document.documentElement.dataset.theme = name;
    const button = document.getElementById("toggle-theme");
    if (button) button.textContent = name === "dark" ? "light" : "dark";
    set("theme", { data: name });
  }

  const clicks = {
    "toggle-theme": () => light(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
    "open-share": () => document.getElementById("share").showModal(),
    "close-share": () => document.getElementById("share").close(),
    "export-svg": () => save("svg"),
    "export-png": () => save("png"),
    play: (button) => togglePlay(button),
    advance: () => play(1),
    rewind: () => play(0),
    reseed: () => set(slot("seed"), { value: String((Number(settings.seed) || 0) + 1) }),
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const action = button && clicks[button.id];
    if (action) action(button);
  });

  document.addEventListener("pointerdown", (event) => {
    if (!event.target.closest("#plane-wrap")) return;
    const place = under(event);
    if (!place) return;
    dragging = true;
    document.getElementById("knob").focus({ preventScroll: true });
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
  window.addEventListener("resize", () => setTimeout(placeKnob, 60));

  // The picture says when it is drawn; the point then goes to its place.
  const watch = new MutationObserver(() => {
    const drawn = graph();
    if (drawn && drawn.on && !drawn.dataset.watched) {
      drawn.dataset.watched = "yes";
      drawn.on("plotly_afterplot", placeKnob);
      placeKnob();
    }
  });
  watch.observe(document.documentElement, { childList: true, subtree: true });

  function start() {
    const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    if (dark) setTimeout(() => light("dark"), 0);
  }
  start();

  window.dash_clientside.ravine.fit = function () {
    setTimeout(() => window.dispatchEvent(new Event("resize")), 80);
    return window.dash_clientside.no_update;
  };

  window.dash_clientside.ravine.address = function (query) {
    const wanted = query ? `?${query}` : window.location.pathname;
    window.history.replaceState(null, "", wanted);
    return window.dash_clientside.no_update;
  };
})();
