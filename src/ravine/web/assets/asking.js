// Requests to Python. One banner says when the server is gone, and goes when it is back.
import { byId } from "./draw.js";

const AGAIN = 2000; // milliseconds between two tries to reach a server that is gone
let waiting = null;
const back = []; // what to do when it is there again

export const whenBack = (action) => back.push(action);

function gone() {
  byId("banner").hidden = false;
  byId("restart").textContent = `ravine explore --port ${window.location.port || 80}`;
  if (waiting === null) waiting = setInterval(tryAgain, AGAIN);
}

function there() {
  if (waiting === null) return;
  clearInterval(waiting);
  waiting = null;
  byId("banner").hidden = true;
  back.forEach((action) => action());
}

function tryAgain() {
  fetch("assets/page.css", { method: "HEAD", cache: "no-store" }).then(there, () => {});
}

// The answer as JSON. A server that cannot be reached is told apart from one that refuses.
export async function ask(path, options = {}) {
  let reply;
  try {
    reply = await fetch(path, { cache: "no-store", ...options });
  } catch (error) {
    if (error.name !== "AbortError") gone();
    throw error;
  }
  there();
  if (!reply.ok) throw new Error(`the server refused this (${reply.status})`);
  return reply.json();
}

export const post = (path, value, signal) => ask(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(value),
  signal,
});

// One request is under way at a time. Of what is wanted meanwhile only the latest is asked for,
// once the answer has come: a drag never leaves a queue behind it.
export function latest(request, land) {
  let busy = false;
  let again = false;
  async function run() {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      try {
        land(await post("answer", request()));
      } catch (error) {
        if (waiting === null) console.error(error);
      }
    }
    busy = false;
  }
  run.busy = () => busy;
  return run;
}

// Looks at a job until it has ended.
const LOOK = 300; // milliseconds between two looks
export async function follow(name, show, signal) {
  for (;;) {
    const job = await ask(`jobs/${name}`, { signal });
    if (job.gone || job.refusal || job.result) return job;
    show(job);
    await new Promise((done) => setTimeout(done, LOOK));
  }
}
