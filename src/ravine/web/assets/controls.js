// The settings, shown by sliders, boxes and lists. An invalid input shows a message and changes
// nothing.
import { byId } from "./draw.js";

export const settings = {};
const LISTS = ["colour", "axis", "sampling", "example"];
const JUMP = 0.5; // decades of a logarithmic slider for all values below its first
let controls = {};
let changed = () => {};

const ends = ({ slider, low, high, first }) =>
  slider === "log" ? [Math.log10(first) - (low < first ? JUMP : 0), Math.log10(high)] : [low, high];

function place({ slider, first }, value) {
  if (slider !== "log") return value;
  return Math.log10(value < first ? first : value) - (value < first ? JUMP : 0);
}

function fromSlider({ slider, low, first, whole }, position) {
  let value = position;
  if (slider === "log") value = position < Math.log10(first) - JUMP / 2 ? low : 10 ** position;
  return String(whole ? Math.round(value) : Number(value.toPrecision(5)));
}

// The nearest allowed number.
export function within(name, value, digits) {
  const { low, high } = controls[name];
  return String(Math.min(high, Math.max(low, Number(value.toPrecision(digits)))));
}

// A slider and its box show the same number; the one being used is not changed.
function show(name, used) {
  const [box, slide] = [byId(`box-${name}`), byId(`slide-${name}`)];
  if (!box) return;
  if (box !== used) box.value = settings[name];
  if (slide && slide !== used) slide.value = place(controls[name], Number(settings[name]));
  byId(`message-${name}`).textContent = "";
}

function onInput({ target }) {
  const [, kind, name] = /^(slide|box)-(\w+)$/.exec(target.id) || [];
  if (!kind) return;
  const { label, rule } = controls[name];
  const box = byId(`box-${name}`);
  if (kind === "slide") box.value = fromSlider(controls[name], Number(target.value));
  if (box.checkValidity()) put({ [name]: box.value }, target);
  else byId(`message-${name}`).textContent = `${label}: ${rule}`;
}

export function connect(known, onChange) {
  controls = known;
  changed = onChange;
  for (const [name, control] of Object.entries(controls)) {
    if (control.slider) [byId(`slide-${name}`).min, byId(`slide-${name}`).max] = ends(control);
  }
  for (const name of LISTS) byId(name).addEventListener("change", () => put({ [name]: byId(name).value }));
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

// Only settings that have an effect are shown.
export function arrange(active) {
  for (const name of Object.keys(controls)) byId(`control-${name}`).hidden = !active.includes(name);
  byId("sampling").parentElement.hidden = !active.includes("sampling");
  byId("reseed").hidden = settings.example === "turning";
  for (const part of document.querySelectorAll("[data-example]")) {
    part.hidden = part.dataset.example !== settings.example;
  }
}
