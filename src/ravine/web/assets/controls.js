// The settings: one truth, shown by sliders, boxes and lists. What is typed wrongly has a message
// and changes nothing.
import { byId } from "./draw.js";

export const settings = {};
const MORE = ["ratio", "batch", "gamma"]; // behind "more settings"
const LISTS = ["colour", "axis", "sampling", "example"];
let controls = {};
let changed = () => {};

export const range = (name) => controls[name];

const ends = ({ low, high, log, zero }) =>
  log ? [Math.log10(low) - (zero ? 0.5 : 0), Math.log10(high)] : [low, high];

function place(name, value) {
  const { log, low } = controls[name];
  if (!log) return value;
  return value > 0 ? Math.log10(Math.max(value, low)) : Math.log10(low) - 0.5;
}

function fromSlider(name, position) {
  const { log, low, high, whole, zero } = controls[name];
  if (zero && log && position < Math.log10(low) - 0.25) return "0";
  let value = log ? 10 ** position : position;
  value = Math.min(high, Math.max(low, value));
  return String(whole ? Math.round(value) : Number(value.toPrecision(5)));
}

// What is wrong with a typed number, in words; empty if nothing is.
function wrong(name, text) {
  const { low, high, whole, zero, label } = controls[name];
  if (name === "gamma" && text.trim() === "") return "";
  const value = Number(text);
  const inside = text.trim() !== "" && value >= low && value <= high;
  if ((inside || (zero && text.trim() !== "" && value === 0)) && (!whole || Number.isInteger(value))) return "";
  return `${label}: ${whole ? "a whole number" : "a number"} from ${zero ? 0 : low} to ${high}`;
}

// A slider and its box show the same number; whichever is being used is left alone.
function show(name, used) {
  const box = byId(`box-${name}`);
  const slide = byId(`slide-${name}`);
  if (box && box !== used) {
    box.value = settings[name];
    say(name, "");
  }
  if (slide && slide !== used) slide.value = place(name, Number(settings[name]));
}

function say(name, words) {
  byId(`message-${name}`).textContent = words;
  byId(`box-${name}`).setAttribute("aria-invalid", String(words !== ""));
}

function onInput(event) {
  const [, kind, name] = /^(slide|box)-(\w+)$/.exec(event.target.id) || [];
  if (!kind) return;
  const text = kind === "slide" ? fromSlider(name, Number(event.target.value)) : event.target.value;
  const words = wrong(name, text);
  say(name, words);
  if (!words) put({ [name]: text.trim() }, event.target);
}

function row(name) {
  const { label, help, log, whole } = controls[name];
  const [low, high] = ends(controls[name]);
  const out = document.createElement("div");
  out.className = "control";
  out.id = `control-${name}`;
  const slider = name === "gamma" ? "" : `<input id="slide-${name}" type="range" min="${low}" max="${high}"
    step="${whole && !log ? 1 : "any"}" aria-label="${label}, slider">`;
  out.innerHTML = `<label for="box-${name}">${label}</label>${slider}
    <input id="box-${name}" class="box" inputmode="decimal" autocomplete="off" ${name === "gamma" ? 'placeholder="β"' : ""}>
    <span class="hint">${help}</span><span id="message-${name}" class="message" role="alert"></span>`;
  return out;
}

export function options(list, pairs) {
  list.replaceChildren(...pairs.map(([value, words]) => new Option(words, value)));
}

export function build(page, onChange) {
  controls = page.controls;
  changed = onChange;
  for (const name of Object.keys(controls)) {
    byId(MORE.includes(name) ? "more-controls" : "controls").append(row(name));
  }
  for (const name of LISTS) {
    options(byId(name), page.choices[name]);
    byId(name).addEventListener("change", () => put({ [name]: byId(name).value }));
  }
  options(byId("preset"), [["", "your own settings"], ...page.presets]);
  document.addEventListener("input", onInput);
}

export function put(changes, used) {
  Object.assign(settings, changes);
  for (const name of Object.keys(changes)) show(name, used);
  byId("preset").value = "";
  changed();
}

export function adopt(all) {
  Object.assign(settings, all);
  for (const name of Object.keys(controls)) show(name);
  for (const name of LISTS) byId(name).value = settings[name];
}

// Only what changes something is shown.
export function arrange(active) {
  for (const name of Object.keys(controls)) {
    if (name !== "gamma") byId(`control-${name}`).hidden = !active.includes(name);
  }
  byId("sampling").parentElement.hidden = !active.includes("sampling");
  byId("reseed").hidden = settings.example === "turning";
  for (const part of document.querySelectorAll("[data-example]")) {
    part.hidden = part.dataset.example !== settings.example;
  }
}
