// The first view: a point in the plane, what is known of it, and the method at work.
import { latest, post, whenBack } from "./asking.js";
import { adopt, arrange, build, put, range, settings } from "./controls.js";
import { byId, colourOf, css, learn, legend, Picture } from "./draw.js";
import * as playing from "./playing.js";

const REST = 170; // milliseconds without a change before the fine pictures are asked for
const DWELL = 500; // and after those before the bound of the run is
const shown = { plane: null, run: null }; // keys of the pictures on the page
let outside = "";
let plane = null;
let run = null;
let knob = null;
let resting = null;
let patient = null; // aborts the request for fine pictures
export const state = { query: "" };

const request = (more) => ({ settings, plane: shown.plane, run: shown.run, ...more });

function land(answer) {
  write(answer);
  arrange(answer.active);
  if (answer.plane) {
    shown.plane = answer.plane.key;
    plane.show(answer.plane.picture);
    legend(byId("plane-legend"), answer.plane.picture, [[outside, css("--outside")]]);
  }
  if (answer.run) {
    shown.run = answer.run.key;
    playing.takePath(answer.run.path);
    run.show(answer.run.picture);
    legend(byId("run-legend"), answer.run.picture);
    playing.refresh();
  }
  placeKnob();
  state.query = answer.query;
  // What is painted, for whoever wants to know whether it is there already.
  byId("view-explore").dataset.shown = answer.query;
}

function write({ words, preset, python, command }) {
  byId("verdict").textContent = words.verdict;
  byId("verdict").className = words.tone;
  for (const [key, [number, tone]] of Object.entries(words.rungs)) {
    byId(`rung-${key}`).textContent = number;
    byId(`rung-${key}`).className = `number ${tone}`;
  }
  if (preset !== undefined) {
    byId("preset").value = preset;
    byId("python").textContent = python;
    byId("command").textContent = command;
  }
}

const move = latest(() => request({}), land);

export function changed() {
  if (patient) patient.abort();
  clearTimeout(resting);
  placeKnob();
  move();
  resting = setTimeout(rest, REST);
}

async function rest(more = { fine: true }) {
  if (move.busy()) {
    resting = setTimeout(rest, REST / 4);
    return;
  }
  const mine = (patient = new AbortController());
  try {
    const answer = await post("answer", request(more), mine.signal);
    if (mine.signal.aborted) return;
    land(answer);
    address();
    if (!more.bound) dwell();
  } catch (error) {
    if (error.name !== "AbortError") console.error(error);
  }
}

// The bound of a run with noise takes longest, and comes when nothing has moved for a while.
function dwell() {
  if (settings.example === "noise") resting = setTimeout(() => rest({ fine: true, bound: true }), DWELL);
}

// The address holds all that is shown; the view on data adds its own part.
export const parts = { data: () => "" };
export function address() {
  const query = [state.query, parts.data()].filter(Boolean).join("&");
  window.history.replaceState(null, "", query ? `?${query}` : window.location.pathname);
}

async function beginWith() {
  if (!byId("preset").value) return;
  const answer = await post("answer", request({ preset: byId("preset").value }));
  const { value } = byId("preset");
  adopt(answer.settings);
  land(answer);
  byId("preset").value = value;
  resting = setTimeout(rest, REST);
}

function placeKnob() {
  if (!plane.plot) return;
  const { x, y } = plane.spec;
  const inside = (value, axis) => Math.min(axis.high, Math.max(axis.low, value));
  const [left, top] = plane.at(inside(Number(settings.step), x), inside(Number(settings.beta), y));
  knob.style.transform = `translate(${left}px, ${top}px)`;
  knob.setAttribute("aria-valuetext", `step size ${settings.step}, momentum ${settings.beta}`);
  knob.setAttribute("aria-valuenow", settings.step);
}

function under(event) {
  const box = plane.plot.over.getBoundingClientRect();
  const bounded = (value, most) => Math.min(most, Math.max(0, value));
  const left = bounded(event.clientX - box.left, box.width);
  const [step, beta] = plane.back(left, bounded(event.clientY - box.top, box.height));
  const kept = (name, value) => Math.min(range(name).high, Math.max(range(name).low, Number(value.toPrecision(4))));
  return { step: String(kept("step", step)), beta: String(kept("beta", beta)) };
}

let cursor = null;
const askCursor = latest(() => ({ settings, cursor }), ({ cursor: numbers }) => {
  for (const [key, number] of Object.entries(numbers)) byId(`cursor-${key}`).textContent = number;
});

// At most one move in a frame of the screen.
let waiting = null;
function onMove(event, dragging) {
  if (waiting === null) {
    window.requestAnimationFrame(() => {
      const place = under(waiting);
      waiting = null;
      if (dragging()) put(place);
      else {
        cursor = place;
        askCursor();
      }
    });
  }
  waiting = event;
}

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] };
function onKey(event) {
  const arrow = ARROWS[event.key];
  if (!arrow) return;
  event.preventDefault();
  const size = event.shiftKey ? 0.001 : 0.01;
  const step = Number(settings.step);
  const along = settings.axis === "log" ? step * (1 + 5 * size * arrow[0]) : step + size * arrow[0];
  const kept = (name, value) => String(Number(Math.min(range(name).high, Math.max(range(name).low, value)).toPrecision(6)));
  put({ step: kept("step", along), beta: kept("beta", Number(settings.beta) + size * arrow[1]) });
}

function connectPoint() {
  knob = document.createElement("div");
  Object.assign(knob, { id: "knob", tabIndex: 0, role: "slider" });
  knob.setAttribute("aria-label", "the method: step size and momentum");
  knob.setAttribute("aria-valuemin", range("step").low);
  knob.setAttribute("aria-valuemax", range("step").high);
  knob.addEventListener("keydown", onKey);
  let dragging = false;
  plane.ready = ({ over }) => {
    if (!over.contains(knob)) over.append(knob);
    over.addEventListener("pointerdown", (event) => {
      dragging = true;
      over.setPointerCapture(event.pointerId);
      knob.focus({ preventScroll: true });
      put(under(event));
      event.preventDefault();
    });
    over.addEventListener("pointermove", (event) => onMove(event, () => dragging));
    for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, () => (dragging = false));
  };
  plane.moved = placeKnob;
}

function buildRungs(page) {
  byId("rungs").replaceChildren(...page.rungs.map(([key, title, scope]) => {
    const row = document.createElement("tr");
    row.innerHTML = `<td class="name"></td><td class="number" id="rung-${key}"></td>
      <td class="number faint" id="cursor-${key}">–</td><td class="scope"></td>`;
    row.firstChild.textContent = title;
    row.lastChild.textContent = scope;
    return row;
  }));
}

export function begin(answer) {
  const { page } = answer;
  learn(page);
  document.documentElement.style.setProperty("--chosen", colourOf("chosen"));
  outside = page.outside;
  build(page, changed);
  buildRungs(page);
  plane = new Picture(byId("plane"));
  ({ run } = playing.prepare());
  connectPoint();
  adopt(answer.settings);
  playing.begin();
  land(answer);
  dwell();
  byId("preset").addEventListener("change", beginWith);
  byId("play").addEventListener("click", playing.play);
  byId("advance").addEventListener("click", () => { playing.pause(); playing.advance(); });
  byId("rewind").addEventListener("click", playing.rewind);
  byId("reseed").addEventListener("click", () => put({ seed: String(Number(settings.seed) + 1) }));
  whenBack(changed);
}

export function repaint() {
  for (const picture of [plane, run]) if (picture && picture.plot) picture.plot.redraw();
  playing.refresh();
  for (const name of ["plane-legend", "run-legend"]) byId(name).dataset.said = "";
  shown.plane = shown.run = null; // legends are made anew in the other colours
  changed();
}
