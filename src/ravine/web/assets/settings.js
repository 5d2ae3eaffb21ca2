// What stands in the boxes, sliders and lists: one truth, of which Dash hears when it rests.
(function (ravine) {
  "use strict";

  const { byId } = ravine;
  const LOGARITHMIC = new Set(["Q", "K", "n", "ratio", "batch"]);
  const WHOLE = new Set(["K", "n", "batch", "seed"]);
  const PICKS = ["room", "colour", "axis", "sampling", "example"];

  ravine.settings = {};
  let known = null; // what Dash has in its lists
  const late = new Set(); // numbers of which Dash has not heard

  const set = (id, props) => window.dash_clientside.set_props(id, props);

  // --- numbers ----------------------------------------------------------------------------

  function place(name, text) {
    const value = Number(text);
    if (text === "" || !isFinite(value) || (LOGARITHMIC.has(name) && value <= 0)) return null;
    return LOGARITHMIC.has(name) ? Math.log10(value) : value;
  }

  function read(name, slide) {
    let value = LOGARITHMIC.has(name) ? 10 ** Number(slide) : Number(slide);
    if (WHOLE.has(name)) value = Math.round(value);
    return String(Number(value.toPrecision(6)));
  }

  // A slider and its box show the same number; whichever is being used is left alone.
  function show(name, text, used) {
    const box = byId(`box-${name}`);
    const slide = byId(`slide-${name}`);
    if (box && box !== used && box.value !== text) box.value = text;
    const where = place(name, text);
    if (slide && slide !== used && where !== null) slide.value = where;
    late.add(name);
  }

  ravine.put = function (changes, used) {
    ravine.settings = { ...ravine.settings, ...changes };
    for (const [name, text] of Object.entries(changes)) show(name, text, used);
    ravine.changed();
  };

  // Dash's own copies of the numbers catch up.
  ravine.settle = function () {
    for (const name of late) {
      const text = ravine.settings[name];
      const where = place(name, text);
      set(`box-${name}`, { value: text });
      if (where !== null && byId(`slide-${name}`)) set(`slide-${name}`, { value: where });
    }
    late.clear();
  };

  function onInput(event) {
    const [, kind, name] = /^(slide|box)-(\w+)$/.exec(event.target.id) || [];
    if (!kind) return;
    // Dash would visit every part of the page for each pixel that a slider moves.
    if (kind === "slide") event.stopPropagation();
    if (event.type !== "input") return;
    const { value } = event.target;
    ravine.put({ [name]: kind === "slide" ? read(name, value) : value }, event.target);
  }
  document.addEventListener("input", onInput, true);
  document.addEventListener("change", onInput, true);
  // What is left or pressed next may be a part of Dash, which must know by then.
  document.addEventListener("focusout", () => ravine.settle(), true);

  // --- lists ------------------------------------------------------------------------------

  function arrange() {
    const { settings } = ravine;
    ravine.showRoom(settings.room);
    // The order of the functions matters to the sum alone.
    const matters = settings.example === "odd" || settings.colour === "sum";
    byId("pick-sampling-place").hidden = !matters;
  }

  function tellLists() {
    for (const name of PICKS) {
      if (known[name] !== ravine.settings[name]) set(`pick-${name}`, { value: ravine.settings[name] });
    }
  }

  // All settings anew: from the address, or from a preset.
  ravine.adopt = function (settings) {
    ravine.settings = settings;
    for (const [name, text] of Object.entries(settings)) {
      const box = byId(`box-${name}`);
      if (box && box.value !== text) show(name, text);
    }
    if (known !== null) tellLists();
    arrange();
  };

  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.ravine = {
    picked: function (...values) {
      const before = known;
      known = Object.fromEntries(PICKS.map((name, i) => [name, values[i]]));
      const ready = Object.keys(ravine.settings).length > 0;
      if (ready && before === null) tellLists();
      else if (ready && PICKS.some((name) => known[name] !== ravine.settings[name])) {
        ravine.settings = { ...ravine.settings, ...known };
        arrange();
        ravine.changed();
      }
      return window.dash_clientside.no_update;
    },

    begin_with: function (preset) {
      const { settings } = ravine;
      ravine.once({ preset, settings, theme: ravine.theme() }).then((answer) => {
        ravine.adopt(answer.settings);
        ravine.changed();
      });
      return window.dash_clientside.no_update;
    },

    fit: function () {
      ravine.fit();
      return window.dash_clientside.no_update;
    },
  };
})((window.ravine = window.ravine || {}));
