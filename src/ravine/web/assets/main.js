// Start: request the first answer, then set up tabs, theme, tour and dialog.
import { post, sleep, whenBack } from "./asking.js";
import * as claims from "./claims.js";
import { settings } from "./controls.js";
import * as data from "./data.js";
import { byId, make } from "./draw.js";
import * as explore from "./explore.js";

const root = document.documentElement;
const tabs = [...byId("tabs").children];

function setTheme(theme) {
  root.style.colorScheme = theme;
  byId("toggle-theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function turnTheme() {
  setTheme(root.style.colorScheme === "dark" ? "light" : "dark");
  localStorage.setItem("ravine-theme", root.style.colorScheme);
  explore.repaint();
  data.repaint();
}

function showTab(tab) {
  settings.tab = tab.id.replace("tab-", "");
  for (const one of tabs) {
    one.ariaSelected = String(one === tab);
    one.tabIndex = one === tab ? 0 : -1;
    byId(one.id.replace("tab", "view")).hidden = one !== tab;
  }
  byId("open-share").hidden = settings.tab !== "explore"; // it describes the first view
  if (settings.tab === "claims") claims.open().catch(() => whenBack(() => claims.open()));
}

function pick(tab) {
  showTab(tab);
  tab.focus();
  explore.changed();
}

function onTabKey({ key, target }) {
  const move = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (move) pick(tabs.at((tabs.indexOf(target) + move) % tabs.length));
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
  const done = navigator.clipboard.writeText(words);
  button.textContent = await done.then(() => "Copied", () => "Select and copy it by hand");
  await sleep(1500);
  button.textContent = label;
}

function openShare() {
  for (const link of document.querySelectorAll("a[download]")) {
    link.href = `${link.download}?${explore.query()}`;
  }
  byId("share").showModal();
}

function save(name) {
  const href = byId(name).querySelector("canvas").toDataURL();
  make("a", { download: `ravine-${name}.png`, href }).click();
}

const clicks = {
  "toggle-theme": turnTheme,
  "start-tour": () => tour(0),
  "tour-next": () => tour(place + 1),
  "tour-end": () => tour(Infinity),
  "open-share": openShare,
  "close-share": () => byId("share").close(),
  "copy-address": (button) => copy(button, window.location.href),
};
document.addEventListener("click", ({ target }) => {
  if (clicks[target.id]) clicks[target.id](target);
  if (target.dataset.copy) copy(target, byId(target.dataset.copy).textContent);
  if (target.dataset.save) save(target.dataset.save);
  if (tabs.includes(target)) pick(target);
});
byId("tabs").addEventListener("keydown", onTabKey);
byId("tour").addEventListener("keydown", ({ key }) => key === "Escape" && tour(Infinity));

const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
setTheme(localStorage.getItem("ravine-theme") || (dark ? "dark" : "light"));

async function begin() {
  const address = Object.fromEntries(new URLSearchParams(window.location.search));
  const answer = await post("answer", { settings: address, first: true, calm: 1 });
  explore.begin(answer);
  showTab(byId(`tab-${answer.settings.tab}`));
  data.begin();
}

begin().catch(() => whenBack(() => window.location.reload()));
