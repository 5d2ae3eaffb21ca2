// The first view: a point in the plane, its rates, and a run of the method.
import { latest, post, whenBack } from "./asking.js";
import { adopt, arrange, connect, put, settings, within } from "./controls.js";
import { byId, make, Picture } from "./draw.js";
import * as playing from "./playing.js";

const REST = 170; // milliseconds without a change before the fine pictures are requested
const DWELL = 500; // and, after those, before the bound of a run with noise, which takes longest
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
const shown = { plane: null, run: null }; // keys of the pictures on the page
const plane = new Picture(byId("plane"));
const knob = make("div", { id: "knob", tabIndex: 0, role: "slider", ariaLabel: "the method: step size and momentum" });
let calm = 0; // 0 while something moves, then 1, then 2: how fine the pictures should be
let resting = null;
export const query = () => byId("view-explore").dataset.shown || "";

const request = (more) => ({ settings, ...shown, ...more });
const move = latest(() => request({ calm }), (answer) => {
  land(answer);
  if (calm) address();
  grow();
});

export function changed() {
  clearTimeout(resting);
  if (calm) move.stop(); // fine pictures of what was there before
  calm = 0;
  placeKnob();
  move();
}

// When nothing has moved for a while, request better pictures.
function grow() {
  clearTimeout(resting);
  if (calm === 2 || (calm === 1 && settings.example !== "noise")) return;
  resting = setTimeout(() => {
    calm += 1;
    move();
  }, calm ? DWELL : REST);
}

function land(answer) {
  write(answer);
  arrange(answer.active);
  for (const [name, place] of Object.entries({ plane, run: playing })) {
    if (!answer[name]) continue;
    shown[name] = answer[name].key;
    place.show(answer[name].picture);
  }
  placeKnob();
  // The view on the screen: the address and the tests read it.
  byId("view-explore").dataset.shown = answer.query;
}

function write({ words, preset, python, command }) {
  byId("verdict").textContent = words.verdict;
  byId("verdict").className = words.tone;
  for (const [key, [number, tone]] of Object.entries(words.rungs)) {
    byId(`rung-${key}`).textContent = number;
    byId(`rung-${key}`).className = `number ${tone}`;
  }
  if (preset === undefined) return;
  byId("preset").value = preset;
  byId("python").textContent = python;
  byId("command").textContent = command;
}

// The address holds everything that is shown; the view of the data adds its own part.
export const parts = { data: () => "" };
export function address() {
  const whole = [query(), parts.data()].filter(Boolean).join("&");
  window.history.replaceState(null, "", whole ? `?${whole}` : window.location.pathname);
}

async function beginWith() {
  const preset = byId("preset").value;
  if (!preset) return;
  adopt((await post("answer", request({ preset }))).settings);
  changed();
}

function placeKnob() {
  if (!plane.plot) return;
  const [left, top] = plane.at(Number(settings.step), Number(settings.beta));
  knob.style.transform = `translate(${left}px, ${top}px)`;
  knob.ariaValueText = `step size ${settings.step}, momentum ${settings.beta}`;
  knob.ariaValueNow = settings.step;
}

function point([step, beta], digits = 4) {
  return { step: within("step", step, digits), beta: within("beta", beta, digits) };
}

let cursor = null;
const askCursor = latest(() => ({ settings: { ...settings, ...cursor }, cursor: true }), ({ cursor: numbers }) => {
  for (const [key, number] of Object.entries(numbers)) byId(`cursor-${key}`).textContent = number;
});

// At most one move per frame of the screen.
let waiting = null;
function onMove(event) {
  if (waiting === null) window.requestAnimationFrame(follow);
  waiting = event;
}

function follow() {
  cursor = point(plane.under(waiting));
  if (plane.plot.over.hasPointerCapture(waiting.pointerId)) put(cursor);
  else askCursor();
  waiting = null;
}

function onKey(event) {
  const arrow = ARROWS[event.key];
  if (!arrow) return;
  event.preventDefault();
  const size = event.shiftKey ? 0.001 : 0.01;
  const step = Number(settings.step);
  const along = settings.axis === "log" ? step * (1 + 5 * size * arrow[0]) : step + size * arrow[0];
  put(point([along, Number(settings.beta) + size * arrow[1]], 6));
}

function connectPoint({ low, high }) {
  Object.assign(knob, { ariaValueMin: low, ariaValueMax: high });
  knob.addEventListener("keydown", onKey);
  plane.ready = ({ over }) => {
    over.append(knob);
    over.addEventListener("pointerdown", (event) => {
      over.setPointerCapture(event.pointerId);
      knob.focus({ preventScroll: true });
      put(point(plane.under(event)));
      event.preventDefault();
    });
    over.addEventListener("pointermove", onMove);
  };
  plane.moved = placeKnob;
}

export function begin(answer) {
  for (const [name, colour] of Object.entries(answer.colours)) {
    document.documentElement.style.setProperty(`--${name}`, colour);
  }
  connect(answer.controls, changed);
  connectPoint(answer.controls.step);
  adopt(answer.settings);
  playing.begin();
  calm = 1; // the first answer is a fine one
  land(answer);
  grow();
  byId("preset").addEventListener("change", beginWith);
  byId("reseed").addEventListener("click", () => put({ seed: String(Number(settings.seed) + 1) }));
  whenBack(changed);
}

// In the other colours of the style.
export function repaint() {
  shown.plane = shown.run = null;
  changed();
}
