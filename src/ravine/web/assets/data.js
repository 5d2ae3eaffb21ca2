// The user's table: sent to Python, diagnosed there, shown here.
import { ask, post, Work } from "./asking.js";
import { byId, make, Picture } from "./draw.js";
import { address, parts } from "./explore.js";

const CARDS = ["data-answer", "data-plane-card", "data-curves-card"];
const pictures = { plane: new Picture(byId("data-plane")), curves: new Picture(byId("data-curves")) };
const form = byId("data-form");
const work = new Work("data", (lines) => lines.length && showRead(lines));
let file = ""; // the name of the file that was dropped
let scale = 1; // L of the table, to convert αL to the step size

const typed = () => Object.fromEntries(new FormData(form));

parts.data = () => (work.job ? new URLSearchParams({ job: work.job, file, ...typed() }).toString() : "");

async function restore() {
  const query = new URLSearchParams(window.location.search);
  if (!query.has("job")) return;
  for (const field of form.elements) {
    if (field.type === "checkbox") field.checked = query.has(field.name);
    else if (query.has(field.name)) field.value = query.get(field.name);
  }
  [work.job, file] = [query.get("job"), query.get("file") || ""];
  const known = await ask(`jobs/${work.job}`);
  if (!known.gone) await watch();
  else if (byId("dataset").value) await start();
  else work.say(`The server has restarted and does not store tables. Drop ${file || "the file"} again.`);
}

async function start(body) {
  for (const name of CARDS) byId(name).hidden = true;
  file = body ? body.name : "";
  if (body) byId("dataset").value = "";
  work.cancel();
  if (!form.checkValidity()) {
    work.say("The batch size is a whole number, 1 or more.");
    return;
  }
  try {
    await work.start({ task: "diagnose", name: file, ...typed() }, body);
  } catch (error) {
    const what = file || "The table";
    const large = `${what} is too large for the page: use ravine diagnose.`;
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
    work.say("The server stopped before the answer was ready.");
  }
}

function showRead(lines) {
  byId("data-read").replaceChildren(...lines.map((words) => make("li", {}, words)));
  byId("data-html").replaceChildren();
  byId("data-answer").hidden = false;
}

function show({ read, html, L, ...specs }) {
  scale = L;
  showRead(read);
  byId("data-html").innerHTML = html; // from Python, which escapes text from the table
  for (const [name, picture] of Object.entries(pictures)) {
    byId(`data-${name}-card`).hidden = false;
    picture.show(specs[name]);
  }
}

async function judge() {
  const [step, beta] = [byId("judge-step"), byId("judge-beta")];
  const words = byId("data-judged");
  if (!step.checkValidity() || !beta.checkValidity() || !Number(step.value)) {
    words.textContent = "The step size must be positive and the momentum from -1 to 1.";
    return;
  }
  const at = { x: Number(step.value), y: Number(beta.value) };
  const alpha = at.x / scale;
  const { spec } = pictures.plane;
  const mine = { kind: "dot", ...at, colour: "chosen", marker: "o", words: "your point", named: true };
  pictures.plane.show({ ...spec, layers: [...spec.layers.filter((one) => one.words !== mine.words), mine] });
  words.textContent = `Testing step size ${alpha.toPrecision(3)}, momentum ${beta.value} …`;
  const { answer } = await post(`jobs/${work.job}`, { alpha, beta: at.y });
  words.textContent = answer || "This table is no longer stored: drop it again.";
}

function judgeClick(event) {
  const [step, beta] = pictures.plane.under(event);
  byId("judge-step").value = step.toPrecision(3);
  byId("judge-beta").value = beta.toPrecision(3);
  judge();
}

export function begin() {
  byId("file").addEventListener("change", () => byId("file").files[0] && start(byId("file").files[0]));
  byId("dataset").addEventListener("change", () => byId("dataset").value && start());
  byId("data-cancel").addEventListener("click", address);
  byId("judge-point").addEventListener("click", judge);
  form.addEventListener("submit", (event) => event.preventDefault());
  pictures.plane.ready = ({ over }) => over.addEventListener("click", judgeClick);
  const drop = byId("drop");
  for (const name of ["dragover", "drop"]) {
    document.addEventListener(name, (event) => {
      event.preventDefault(); // a file dropped beside the field must not replace the page
      drop.classList.toggle("over", name === "dragover");
    });
  }
  drop.addEventListener("drop", ({ dataTransfer: { files } }) => files[0] && start(files[0]));
  return restore().catch(() => {});
}

export function repaint() {
  for (const { plot } of Object.values(pictures)) if (plot) plot.redraw();
}
