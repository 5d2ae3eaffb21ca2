// Begins: asks for the first answer, then wires tabs, theme, tour and the dialog.
import { post, whenBack } from "./asking.js";
import * as claims from "./claims.js";
import { settings } from "./controls.js";
import * as data from "./data.js";
import { byId } from "./draw.js";
import * as explore from "./explore.js";

const root = document.documentElement;

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

let place = -1;

function tour(next) {
  const words = [...document.querySelectorAll("[data-about]")];
  place = next < words.length ? next : -1;
  document.querySelector(".toured")?.classList.remove("toured");
  byId("tour").hidden = place < 0;
  if (place < 0) {
    byId("start-tour").focus();
    return;
  }
  words.forEach((one, i) => (one.hidden = i !== place));
  const about = byId(words[place].dataset.about);
  about.classList.add("toured");
  about.scrollIntoView({ block: "nearest" });
  byId("tour-place").textContent = `${place + 1} of ${words.length}`;
  byId("tour-next").textContent = place + 1 === words.length ? "Done" : "Next";
  byId("tour-next").focus();
}

async function copy(button, words) {
  const label = button.textContent;
  const done = await navigator.clipboard.writeText(words).then(() => "Copied", () => "Select and copy it by hand");
  button.textContent = done;
  setTimeout(() => (button.textContent = label), 1500);
}

function openShare() {
  for (const link of document.querySelectorAll("[data-form]")) {
    link.download = `ravine-plane.${link.dataset.form}`;
    link.href = `${link.download}?${explore.state.query}`;
  }
  byId("share").showModal();
}

function save(name) {
  const link = document.createElement("a");
  Object.assign(link, { download: `ravine-${name}.png`, href: byId(name).querySelector("canvas").toDataURL() });
  link.click();
}

function connectButtons() {
  byId("toggle-theme").addEventListener("click", turnTheme);
  byId("start-tour").addEventListener("click", () => tour(0));
  byId("tour-next").addEventListener("click", () => tour(place + 1));
  byId("tour-end").addEventListener("click", () => tour(Infinity));
  byId("tour").addEventListener("keydown", ({ key }) => key === "Escape" && tour(Infinity));
  byId("open-share").addEventListener("click", openShare);
  byId("close-share").addEventListener("click", () => byId("share").close());
  byId("copy-address").addEventListener("click", (event) => copy(event.target, window.location.href));
  document.addEventListener("click", ({ target }) => {
    if (target.dataset.copy) copy(target, byId(target.dataset.copy).textContent);
    if (target.dataset.save) save(target.dataset.save);
  });
}

const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
setTheme(localStorage.getItem("ravine-theme") || (dark ? "dark" : "light"));
connectButtons();

async function begin() {
  const answer = await post("answer", { search: window.location.search, fine: true });
  buildTabs(answer.page.choices.tab);
  explore.begin(answer);
  showTab(answer.settings.tab);
  data.begin(answer.page);
}

begin().catch(() => whenBack(() => window.location.reload()));
