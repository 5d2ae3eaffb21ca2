// Begins: asks for the first answer, then wires tabs, theme, tour and the dialog.
import { post, whenBack } from "./asking.js";
import * as claims from "./claims.js";
import { settings } from "./controls.js";
import * as data from "./data.js";
import { byId } from "./draw.js";
import * as explore from "./explore.js";

const root = document.documentElement;

// --- light and dark ---------------------------------------------------------------------

function setTheme(theme) {
  root.dataset.theme = theme;
  byId("toggle-theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function turnTheme() {
  setTheme(root.dataset.theme === "dark" ? "light" : "dark");
  localStorage.setItem("ravine-theme", root.dataset.theme);
  explore.repaint();
  data.repaint();
}

// --- tabs -------------------------------------------------------------------------------

let tabs = [];

function showTab(wanted, focus = false) {
  settings.tab = wanted;
  for (const [name] of tabs) {
    const tab = byId(`tab-${name}`);
    tab.setAttribute("aria-selected", String(name === wanted));
    tab.tabIndex = name === wanted ? 0 : -1;
    byId(`view-${name}`).hidden = name !== wanted;
    if (name === wanted && focus) tab.focus();
  }
  if (wanted === "claims") claims.open().catch(() => whenBack(() => claims.open()));
}

function onTabKey(event) {
  const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!move) return;
  const place = tabs.findIndex(([name]) => name === settings.tab);
  pick(tabs[(place + move + tabs.length) % tabs.length][0], true);
}

function pick(name, focus) {
  showTab(name, focus);
  explore.changed();
}

function buildTabs(pairs) {
  tabs = pairs;
  byId("tabs").replaceChildren(...tabs.map(([name, words]) => {
    const tab = document.createElement("button");
    tab.id = `tab-${name}`;
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", `view-${name}`);
    tab.textContent = words;
    tab.addEventListener("click", () => pick(name));
    tab.addEventListener("keydown", onTabKey);
    return tab;
  }));
}

// --- the tour ---------------------------------------------------------------------------

function tour(steps) {
  let place = 0;
  const end = () => {
    byId("tour").hidden = true;
    document.querySelector(".toured")?.classList.remove("toured");
    byId("start-tour").focus();
  };
  const show = () => {
    const [id, words] = steps[place];
    document.querySelector(".toured")?.classList.remove("toured");
    byId(id).classList.add("toured");
    byId(id).scrollIntoView({ block: "nearest" });
    byId("tour-words").textContent = words;
    byId("tour-place").textContent = `${place + 1} of ${steps.length}`;
    byId("tour-next").textContent = place + 1 === steps.length ? "Done" : "Next";
    byId("tour").hidden = false;
    byId("tour-next").focus();
  };
  byId("start-tour").addEventListener("click", () => { place = 0; show(); });
  byId("tour-next").addEventListener("click", () => (++place < steps.length ? show() : end()));
  byId("tour-end").addEventListener("click", end);
  byId("tour").addEventListener("keydown", ({ key }) => key === "Escape" && end());
}

// --- code and pictures ------------------------------------------------------------------

async function copy(button, words) {
  const label = button.textContent;
  const done = await navigator.clipboard.writeText(words).then(() => "Copied", () => "Select and copy it by hand");
  button.textContent = done;
  setTimeout(() => (button.textContent = label), 1500);
}

const FILES = [["plane", "svg"], ["plane", "png"], ["plane", "csv"], ["run", "svg"], ["run", "png"]];

function openShare() {
  byId("downloads").replaceChildren(...FILES.map(([what, form]) => Object.assign(document.createElement("a"), {
    id: `${what}-${form}`,
    className: "button",
    textContent: `${what} as ${form.toUpperCase()}`,
    href: `picture/${what}.${form}?${explore.state.query}`,
    download: `ravine-${what}.${form}`,
  })));
  byId("share").showModal();
}

function connectButtons() {
  byId("toggle-theme").addEventListener("click", turnTheme);
  byId("open-share").addEventListener("click", openShare);
  byId("close-share").addEventListener("click", () => byId("share").close());
  byId("copy-address").addEventListener("click", (event) => copy(event.target, window.location.href));
  document.addEventListener("click", ({ target }) => {
    if (target.dataset.copy) copy(target, byId(target.dataset.copy).textContent);
  });
}

// --- begin ------------------------------------------------------------------------------

const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
setTheme(localStorage.getItem("ravine-theme") || (dark ? "dark" : "light"));
connectButtons();

async function begin() {
  const answer = await post("answer", { search: window.location.search, fine: true });
  buildTabs(answer.page.choices.tab);
  explore.begin(answer);
  tour(answer.page.tour);
  showTab(answer.settings.tab);
  data.begin(answer.page);
}

begin().catch(() => whenBack(() => window.location.reload()));
