// A table of the reader's own: sent to Python, diagnosed there, shown here.
import { ask, follow, post } from "./asking.js";
import { options } from "./controls.js";
import { byId, legend, Picture } from "./draw.js";
import { address, parts } from "./explore.js";

const FIELDS = ["dataset", "target", "batch_size"];
const FLAGS = ["standardise", "intercept"];
const pictures = {};
let job = ""; // the name of the job whose result is shown
let file = ""; // the name of the file that was dropped
let scale = 1; // L of the table: from αL to the step size itself
let watching = null;

// --- the address ------------------------------------------------------------------------

parts.data = () => {
  if (!job && !byId("dataset").value) return "";
  const said = { job, file };
  for (const name of FIELDS) said[name] = byId(name).value;
  for (const name of FLAGS) said[name] = byId(name).checked ? "1" : "";
  return new URLSearchParams(said).toString();
};

async function restore() {
  const said = new URLSearchParams(window.location.search);
  for (const name of FIELDS) if (said.has(name)) byId(name).value = said.get(name);
  for (const name of FLAGS) if (said.has(name)) byId(name).checked = said.get(name) === "1";
  if (!said.get("job")) return;
  [job, file] = [said.get("job"), said.get("file") || ""];
  const known = await ask(`jobs/${job}`);
  if (!known.gone) watch();
  else if (byId("dataset").value) start();
  else message(`The server was started again and does not keep tables. Drop ${file || "the file"} again.`);
}

// --- the work ---------------------------------------------------------------------------

const message = (words) => (byId("data-message").textContent = words);

function forget() {
  for (const name of ["data-answer", "data-plane-card", "data-curves-card", "data-work"]) byId(name).hidden = true;
  message("");
  if (watching) watching.abort();
  if (job) ask(`jobs/${job}`, { method: "DELETE" }).catch(() => {});
  job = "";
}

async function start(body) {
  forget();
  file = body ? body.name : "";
  if (body) byId("dataset").value = "";
  const said = new URLSearchParams({ task: "diagnose", name: file });
  for (const name of FIELDS) said.set(name, byId(name).value.trim());
  for (const name of FLAGS) said.set(name, byId(name).checked ? "1" : "");
  if (!/^[1-9]\d*$/.test(said.get("batch_size") || "1")) {
    message("The batch size is a whole number, 1 or more.");
    return;
  }
  try {
    ({ job } = await ask(`jobs?${said}`, { method: "POST", body }));
  } catch (error) {
    const what = file || "The table";
    message(/413/.test(error.message) ? `${what} is larger than the page takes: use ravine diagnose.`
      : `${what} was not read: ${/refused/.test(error.message) ? error.message : "the server does not answer"}.`);
    return;
  }
  address();
  watch();
}

function progress({ progress: words, share, parts: told }) {
  byId("data-work").hidden = byId("data-cancel").hidden = false;
  byId("data-bar").value = share;
  byId("data-progress").textContent = `${words} (${Math.round(100 * share)} %)`;
  if (told.length) showRead(told);
}

async function watch() {
  watching = new AbortController();
  progress({ progress: "starting", share: 0, parts: [] });
  try {
    const ended = await follow(job, progress, watching.signal);
    if (ended.result) {
      progress({ ...ended, progress: "done" });
      byId("data-cancel").hidden = true;
      show(ended.result);
      return;
    }
    if (ended.refusal) message(ended.refusal);
  } catch (error) {
    if (error.name !== "AbortError") message("The server went away before the answer was there.");
  }
  byId("data-work").hidden = true;
}

// --- the answer -------------------------------------------------------------------------

function showRead(lines) {
  const item = (words) => Object.assign(document.createElement("li"), { textContent: words });
  byId("data-read").replaceChildren(...lines.map(item));
  byId("data-html").replaceChildren();
  byId("data-answer").hidden = false;
}

function show({ read, html, plane, curves, L }) {
  scale = L;
  showRead(read);
  byId("data-html").innerHTML = html; // made by Python, which escapes what comes from the table
  for (const [name, picture] of [["data-plane", plane], ["data-curves", curves]]) {
    byId(`${name}-card`).hidden = false;
    pictures[name] = pictures[name] || new Picture(byId(name));
    if (name === "data-plane") pictures[name].ready = ({ over }) => over.addEventListener("click", judgeClick);
    pictures[name].show(picture);
    legend(byId(`${name}-legend`), picture);
  }
}

// --- another point ----------------------------------------------------------------------

function judgeClick(event) {
  const box = pictures["data-plane"].plot.over.getBoundingClientRect();
  const [step, beta] = pictures["data-plane"].back(event.clientX - box.left, event.clientY - box.top);
  byId("judge-step").value = Number(step.toPrecision(3));
  byId("judge-beta").value = Number(beta.toPrecision(3));
  judge();
}

async function judge() {
  const [step, beta] = ["judge-step", "judge-beta"].map((id) => Number(byId(id).value));
  const words = byId("data-judged");
  if (!(step > 0) || !(beta >= -1 && beta <= 1)) {
    words.textContent = "The step size must be positive and the momentum from -1 to 1.";
    return;
  }
  const { layers } = pictures["data-plane"].spec;
  pictures["data-plane"].spec.layers = layers.filter(({ mine }) => !mine);
  pictures["data-plane"].spec.layers.push({ kind: "dot", x: step, y: beta, key: "chosen", words: "your point", named: true, mine: true });
  pictures["data-plane"].redraw();
  words.textContent = `Judging step size ${(step / scale).toPrecision(3)}, momentum ${beta} …`;
  const { number } = await post(`jobs/${job}`, { alpha: step / scale, beta });
  for (;;) {
    const { answers = {}, gone, refusal } = await ask(`jobs/${job}`);
    const said = answers[number] || refusal;
    if (said || gone || number === null) {
      words.textContent = said || "This table is not kept any more: drop it again.";
      return;
    }
    await new Promise((done) => setTimeout(done, 300));
  }
}

// --- begin ------------------------------------------------------------------------------

export function begin(page) {
  options(byId("dataset"), [["", "choose one"], ...page.datasets.map((name) => [name, name])]);
  byId("file").addEventListener("change", () => byId("file").files[0] && start(byId("file").files[0]));
  byId("dataset").addEventListener("change", () => byId("dataset").value && start());
  byId("data-cancel").addEventListener("click", () => { forget(); address(); });
  byId("judge-point").addEventListener("click", judge);
  const drop = byId("drop");
  drop.addEventListener("keydown", (event) => ["Enter", " "].includes(event.key) && byId("file").click());
  for (const name of ["dragover", "drop"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault(); // a file beside the field must not replace the page
      drop.classList.toggle("over", name === "dragover");
    });
  }
  drop.addEventListener("drop", (event) => event.dataTransfer.files[0] && start(event.dataTransfer.files[0]));
  return restore().catch(() => {});
}

export function repaint() {
  for (const picture of Object.values(pictures)) if (picture.plot) picture.plot.redraw();
}
