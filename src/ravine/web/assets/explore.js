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

  const PATIENCE = 4000; // milliseconds after which an answer is taken to be lost

  const set = (id, props) => window.dash_clientside.set_props(id, props);
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const short = (value) => String(Number(value.toPrecision(6)));
  const byId = (id) => document.getElementById(id);

  let ground = null;
  let asked = null;
  let resting = null;
  let coarse = false; // whether the plane that is shown is a coarse one
  let settings = {};

  function slot(name) {
    return `box-${name}`;
  }

  // One question of a kind is under way at a time. Of what is wished for meanwhile only the latest
  // is asked for, once the answer has come: a drag never leaves a queue behind it.
  const gates = {};

  function pass(kind, wish) {
    const gate = (gates[kind] = gates[kind] || { since: -Infinity, next: null, fine: false });
    // A fine picture takes its time: whoever moves again does not wait for it, and Dash drops it.
    const overtakes = gate.fine && !wish.fine;
    if (performance.now() - gate.since < PATIENCE && !overtakes) {
      gate.next = wish;
      return null;
    }
    gate.since = performance.now();
    gate.fine = Boolean(wish.fine);
    return wish;
  }

  function ask(kind, wish) {
    const now = pass(kind, wish);
    if (now !== null) set(kind, { data: now });
  }

  function release(kind) {
    const gate = gates[kind];
    if (!gate) return;
    const next = gate.next;
    gate.since = -Infinity;
    gate.next = null;
    if (next !== null) ask(kind, next);
  }

  const KIND_OF = { plane: "ground", run: "point", turning: "point" };

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

    landed: function () {
      const triggers = window.dash_clientside.callback_context.triggered || [];
      for (const one of triggers) {
        const id = one.prop_id.split(".")[0];
        release(KIND_OF[id] || "cursor");
      }
      return window.dash_clientside.no_update;
    },

    gather: function (...values) {
      // Settings that wait in the address come first: nothing is drawn twice.
      const restored = values[values.length - 1];
      if (!restored && window.location.search) return window.dash_clientside.no_update;
      const all = {};
      NUMBERS.forEach((name, i) => (all[name] = values[i]));
      CHOICES.forEach((name, i) => (all[name] = values[NUMBERS.length + i]));
      settings = all;
      showOrder(all.example === "odd");
      placeKnob();
      showRoom(all.room);
      return all;
    },

    // The plane is asked for again only when it changes; coarse at once, fine when it rests.
    split: function (all, theme) {
      const none = window.dash_clientside.no_update;
      if (!all) return [none, none];
      // The light that the page is in, which the store may be about to hear of.
      theme = document.documentElement.dataset.theme || theme;
      const wish = { theme, settings: {} };
      GROUND.forEach((name) => (wish.settings[name] = all[name]));
      const point = { settings: all, theme };
      if (same(point, asked)) return [none, none];
      const first = asked === null;
      const moved = !same(wish, ground);
      asked = point;
      ground = wish;
      clearTimeout(resting);
      if (first) return [pass("ground", { ...wish, fine: true }), pass("point", { ...point, fine: true })];
      resting = setTimeout(() => {
        if (moved || coarse) ask("ground", { ...wish, fine: true });
        coarse = false;
        ask("point", { ...point, fine: true });
      }, REST);
      coarse = coarse || moved;
      const plane = moved ? pass("ground", { ...wish, fine: false }) : null;
      const run = pass("point", { ...point, fine: false });
      return [plane === null ? none : plane, run === null ? none : run];
    },
  };

  let room = null;

  function showRoom(wanted) {
    if (wanted === room) return;
    room = wanted;
    for (const name of ["plane", "data", "claims"]) {
      const place = byId(`room-${name}`);
      if (place) place.hidden = name !== wanted;
    }
    fit();
  }

  // The order of the functions matters to the sum alone.
  function showOrder(matters) {
    const picker = byId("pick-sampling");
    if (picker && picker.closest(".picker")) picker.closest(".picker").hidden = !matters;
  }

  // Pictures that were drawn while hidden have no size: they are fitted once they are shown.
  function fit() {
    setTimeout(() => {
      for (const drawn of document.querySelectorAll(".js-plotly-plot")) {
        if (drawn.offsetParent !== null && window.Plotly) window.Plotly.Plots.resize(drawn);
      }
      placeKnob();
      placeCurtain();
    }, 60);
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
    const knob = byId("knob");
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
        else ask("cursor", latest);
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

  function save(what, format) {
    const turning = settings.example === "turning";
    const id = what === "plane" ? "plane" : turning ? "turning" : "run";
    const drawn = document.querySelector(`#${id} .js-plotly-plot`);
    if (!drawn) return;
    const point = {
      type: "scatter", mode: "markers", x: [Number(settings.step)], y: [Number(settings.beta)],
      marker: { size: 15, color: "#e69f00", line: { width: 2, color: "#000000" } },
      showlegend: false,
    };
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--ground").trim();
    const layout = { ...drawn.layout, paper_bgcolor: paper };
    window.Plotly.downloadImage(
      { data: what === "plane" ? [...drawn.data, point] : drawn.data, layout },
      { format, width: 900, height: what === "plane" ? 760 : 560, filename: `ravine-${what}` }
    );
  }

  function copy(button, words) {
    const label = button.textContent;
    navigator.clipboard.writeText(words).then(
      () => (button.textContent = "copied"),
      () => (button.textContent = "select and copy it by hand")
    );
    setTimeout(() => (button.textContent = label), 1500);
  }

  // --- playing ----------------------------------------------------------------------------

  const ROUND = 60; // steps of the turning path, and pieces into which a run is cut to be played
  const BEAT = 220; // milliseconds between two frames of the path: a question to Python each
  const QUICK = 60; // of a run, whose steps are there already
  let turned = 12;
  let shown = null; // steps of the run that are uncovered; null for all
  let timer = null;

  function steps() {
    return Math.max(1, Math.round(Number(settings.K)) || 1);
  }

  function placeCurtain() {
    const curtain = byId("curtain");
    const drawn = document.querySelector("#run .js-plotly-plot");
    const layout = drawn && drawn._fullLayout;
    const words = byId("at-step");
    if (!curtain || !layout || !layout.xaxis || !words) return;
    const turning = settings.example === "turning";
    if (turning || shown === null) {
      curtain.style.display = "none";
      words.textContent = "";
      return;
    }
    const [x, y] = [layout.xaxis, layout.yaxis];
    const left = x._offset + x.d2p(shown);
    curtain.style.display = "block";
    curtain.style.left = `${left}px`;
    curtain.style.width = `${Math.max(0, x._offset + x._length - left)}px`;
    curtain.style.top = `${y._offset}px`;
    curtain.style.height = `${y._length}px`;
    words.textContent = `step ${shown} of ${settings.K}`;
  }

  function rewind() {
    if (settings.example === "turning") {
      turned = 0;
      set("frame", { data: 0 });
    } else {
      shown = 0;
      placeCurtain();
    }
  }

  function advance(playing) {
    if (settings.example === "turning") {
      const last = Math.min(ROUND, steps());
      turned = turned >= last ? 0 : turned + 1;
      set("frame", { data: turned });
      return;
    }
    const stride = playing ? Math.max(1, Math.round(steps() / ROUND)) : 1;
    shown = (shown === null ? 0 : shown) + stride;
    if (shown >= steps()) {
      shown = null;
      stop();
    }
    placeCurtain();
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    byId("play").textContent = "play";
  }

  function togglePlay(button) {
    if (timer !== null) {
      stop();
      return;
    }
    button.textContent = "pause";
    timer = setInterval(() => advance(true), settings.example === "turning" ? BEAT : QUICK);
  }

  // --- wiring -----------------------------------------------------------------------------

  function light(name) {
    document.documentElement.dataset.theme = name;
    nameLight();
    set("theme", { data: name });
  }

  const clicks = {
    "toggle-theme": () => light(document.documentElement.dataset.theme === "dark" ? "light" : "dark"),
    "open-share": () => byId("share").showModal(),
    "close-share": () => byId("share").close(),
    "plane-svg": () => save("plane", "svg"),
    "plane-png": () => save("plane", "png"),
    "run-svg": () => save("run", "svg"),
    "run-png": () => save("run", "png"),
    "copy-python-code": (button) => copy(button, byId("python-code").textContent),
    "copy-command-line": (button) => copy(button, byId("command-line").textContent),
    "copy-address": (button) => copy(button, window.location.href),
    play: (button) => togglePlay(button),
    advance: () => advance(false),
    rewind: () => rewind(),
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
  window.addEventListener("resize", fit);

  // The picture says when it is drawn; the point then goes to its place.
  function follow(id, place) {
    const drawn = document.querySelector(`#${id} .js-plotly-plot`);
    if (!drawn || !drawn.on || drawn.dataset.watched) return;
    drawn.dataset.watched = "yes";
    drawn.on("plotly_afterplot", place);
    place();
  }

  // Dash gives no way to name these for a screen reader.
  function nameControls() {
    for (const name of NUMBERS) {
      const slider = byId(`slide-${name}`);
      const label = document.querySelector(`label[for="${slot(name)}"]`);
      if (slider && label && !slider.hasAttribute("aria-label")) {
        slider.setAttribute("aria-label", `${label.textContent}, slider`);
      }
    }
    for (const button of document.querySelectorAll("button.dash-dropdown")) {
      const label = document.querySelector(`label[for="${button.id}"]`);
      if (label && !label.id) {
        label.id = `label-${button.id}`;
        button.setAttribute("aria-labelledby", `${label.id} ${button.id}-value`);
      }
    }
  }

  let early = new URLSearchParams(window.location.search).get("room");

  const watch = new MutationObserver(() => {
    follow("plane", () => {
      const wait = byId("plane-wait");
      if (wait && graph().querySelector(".heatmaplayer image")) wait.hidden = true;
      placeKnob();
    });
    follow("run", placeCurtain);
    nameControls();
    nameLight();
    if (early && byId("room-claims")) {
      showRoom(early);
      early = null;
    }
  });
  watch.observe(document.documentElement, { childList: true, subtree: true });

  // The button says what it leads to; the system's wish is known before the button is there.
  function nameLight() {
    const button = byId("toggle-theme");
    const other = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    if (button && button.textContent !== other) button.textContent = other;
  }

  function start() {
    const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    if (dark) setTimeout(() => light("dark"), 0);
  }
  start();

  window.dash_clientside.ravine.fit = function () {
    fit();
    return window.dash_clientside.no_update;
  };

  window.dash_clientside.ravine.address = function (query) {
    const wanted = query ? `?${query}` : window.location.pathname;
    window.history.replaceState(null, "", wanted);
    return window.dash_clientside.no_update;
  };
})();
