// Begins: asks for the first picture before there is a page, and wires the rest when there is one.
(function (ravine) {
  "use strict";

  const { byId } = ravine;
  const root = document.documentElement;

  // --- light and dark ---------------------------------------------------------------------

  ravine.theme = () => root.dataset.theme;

  // The button says what it leads to; the system's wish is known before the button is there.
  function nameLight() {
    byId("toggle-theme").textContent = ravine.theme() === "dark" ? "light" : "dark";
  }

  function turnLight() {
    root.dataset.theme = ravine.theme() === "dark" ? "light" : "dark";
    nameLight();
    window.dash_clientside.set_props("theme", { data: ravine.theme() });
    ravine.changed();
  }

  // --- rooms ------------------------------------------------------------------------------

  let room = null;

  ravine.showRoom = function (wanted) {
    if (wanted === room) return;
    room = wanted;
    for (const name of ["plane", "data", "claims"]) byId(`room-${name}`).hidden = name !== wanted;
    ravine.fit();
  };

  // --- buttons ----------------------------------------------------------------------------

  function copy(button, words) {
    const label = button.textContent;
    navigator.clipboard.writeText(words).then(
      () => (button.textContent = "copied"),
      () => (button.textContent = "select and copy it by hand")
    );
    setTimeout(() => (button.textContent = label), 1500);
  }

  function saveTable() {
    const link = document.createElement("a");
    link.href = `ravine-plane.csv?${ravine.query}`;
    link.download = "ravine-plane.csv";
    link.click();
  }

  const clicks = {
    "toggle-theme": turnLight,
    "open-share": () => byId("share").showModal(),
    "close-share": () => byId("share").close(),
    "plane-svg": () => ravine.save("plane", "svg"),
    "plane-png": () => ravine.save("plane", "png"),
    "run-svg": () => ravine.save("run", "svg"),
    "run-png": () => ravine.save("run", "png"),
    "export-csv": saveTable,
    "copy-python-code": (button) => copy(button, byId("python-code").textContent),
    "copy-command-line": (button) => copy(button, byId("command-line").textContent),
    "copy-address": (button) => copy(button, window.location.href),
    play: (button) => ravine.togglePlay(button),
    advance: () => ravine.advance(false),
    rewind: () => ravine.rewind(),
    reseed: () => ravine.put({ seed: String((Number(ravine.settings.seed) || 0) + 1) }),
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const action = button && clicks[button.id];
    if (action) action(button);
  });
  window.addEventListener("resize", ravine.fit);

  // --- names for a screen reader, which Dash gives no way to ----------------------------------

  function nameControls() {
    for (const slider of document.querySelectorAll("input[id^='slide-']")) {
      const label = document.querySelector(`label[for="${slider.id.replace("slide", "box")}"]`);
      slider.setAttribute("aria-label", `${label.textContent}, slider`);
    }
    for (const button of document.querySelectorAll("button.dash-dropdown")) {
      const label = document.querySelector(`label[for="${button.id}"]`);
      if (!label) continue;
      label.id = `label-${button.id}`;
      button.setAttribute("aria-labelledby", `${label.id} ${button.id}-value`);
    }
  }

  // --- begin ------------------------------------------------------------------------------

  const dark = window.matchMedia && window.matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "dark" : "light";
  const first = ravine.once({
    search: window.location.search,
    theme: ravine.theme(),
    fine: true,
    frame: ravine.turned(),
  });

  // Lists come in a script of their own, later than the rest of the page.
  const lists = () => document.querySelectorAll("button.dash-dropdown").length;

  function onPage() {
    if (!byId("knob") || !byId("share")) return;
    if (!began) {
      began = true;
      nameLight();
      if (dark) window.dash_clientside.set_props("theme", { data: "dark" });
      first.then(
        (answer) => {
          ravine.adopt(answer.settings);
          ravine.begin(answer);
        },
        (error) => {
          byId("plane-wait").textContent = `The page's server does not answer (${error.message}).`;
        }
      );
    }
    nameControls();
    if (lists() >= LISTS) watch.disconnect();
  }

  const LISTS = 6; // on the plane and in the room for data
  let began = false;
  const watch = new MutationObserver(onPage);
  watch.observe(root, { childList: true, subtree: true });
})((window.ravine = window.ravine || {}));
