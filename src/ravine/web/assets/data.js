// A table of the reader's own: sent to Python, diagnosed there, shown here.
import { ask, post, Work } from "./asking.js";
import { options } from "./controls.js";
import { byId, legend, Picture } from "./draw.js";
import { address, parts } from "./explore.js";

const FIELDS = ["dataset", "target", "batch_size"];
const CARDS = ["data-answer", "data-plane-card", "data-curves-card"];
const FLAGS = ["standardise", "intercept"];
const pictures = {};
const work = new Work("data", ({ parts: told }) => told.length && showRead(told));
let file = ""; // the name of the file that was dropped
let scale = 1; // L of the table: from αL to the step size itself

parts.data = () => {
  if (!work.job) return "";
  const said = { job: work.job, file };
  for (const name of FIELDS) said[name] = byId(name).value;
  for (const name of FLAGS) said[name] = byId(name).checked ? "1" : "";
  return new URLSearchParams(said).toString();
};

async function restore() {
  const said = new URLSearchParams(window.location.search);
  for (const name of FIELDS) if (said.has(name)) byId(name).value = said.get(name);
  for (const name of FLAGS) if (said.has(name)) byId(name).checked = said.get(name) === "1";
  if (!said.get("job")) return;
  [work.job, file] = [said.get("job"), said.get("file") || ""];
  const known = await ask(`jobs/${work.job}`);
  if (!known.gone) await watch();
  else if (byId("dataset").value) await start();
  else work.say(`The server was started again and does not keep tables. Drop ${file || "the file"} again.`);
}

async function start(body) {
  for (const name of CARDS) byId(name).hidden = true;
  file = body ? body.name : "";
  if (body) byId("dataset").value = "";
  const said = { task: "diagnose", name: file };
  for (const name of FIELDS) said[name] = byId(name).value.trim();
  for (const name of FLAGS) said[name] = byId(name).checked ? "1" : "";
  work.cancel();
  if (!/^([1-9]\d*)?$/.test(said.batch_size)) {
    work.say("The batch size is a whole number, 1 or more.");
    return;
  }
  try {
    await work.start(said, body);
  } catch (error) {
    const what = file || "The table";
    const large = `${what} is larger than the page takes: use ravine diagnose.`;
    work.say(/413/.test(error.message) ? large : `${what} was not read: the server does not answer.`);
    return;
  }
  address();
  await watch();
}

async function watch() {
  try {
    const result = await work.result();
    if (result) show(result);
  } catch {
    work.say("The server went away before the answer was there.");
  }
}

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
  const { number } = await post(`jobs/${work.job}`, { alpha: step / scale, beta });
  for (;;) {
    const { answers = {}, gone, refusal } = await ask(`jobs/${work.job}`);
    const said = answers[number] || refusal;
    if (said || gone || number === null) {
      words.textContent = said || "This table is not kept any more: drop it again.";
      return;
    }
    await new Promise((done) => setTimeout(done, 300));
  }
}

export function begin(page) {
  options(byId("dataset"), [["", "choose one"], ...page.datasets.map((name) => [name, name])]);
  byId("file").addEventListener("change", () => byId("file").files[0] && start(byId("file").files[0]));
  byId("dataset").addEventListener("change", () => byId("dataset").value && start());
  byId("data-cancel").addEventListener("click", address);
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
