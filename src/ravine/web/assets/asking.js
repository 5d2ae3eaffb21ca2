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

// Long work of a view: its bar, its words, its message and its button to cancel.
const LOOK = 300; // milliseconds between two looks
export class Work {
  constructor(view, onProgress) {
    this.view = view;
    this.onProgress = onProgress;
    this.job = "";
    this.part("cancel").addEventListener("click", () => this.cancel());
  }

  part(name) {
    return byId(`${this.view}-${name}`);
  }

  say(words) {
    this.part("message").textContent = words;
  }

  async start(options, body) {
    this.cancel();
    this.job = (await ask(`jobs?${new URLSearchParams(options)}`, { method: "POST", body })).job;
  }

  // The result, or nothing: then the message says why.
  async result() {
    const mine = this.job;
    this.progress({ progress: "starting", share: 0, parts: [] });
    for (;;) {
      const told = await ask(`jobs/${mine}`);
      if (this.job !== mine) return null;
      if (told.gone || told.refusal) {
        this.cancel();
        this.say(told.refusal || "The server does not know this any more.");
        return null;
      }
      this.progress(told.result ? { ...told, progress: "done" } : told);
      if (told.result) return told.result;
      await new Promise((done) => setTimeout(done, LOOK));
    }
  }

  progress(told) {
    this.part("work").hidden = false;
    this.part("cancel").hidden = told.share === 1;
    this.part("bar").value = told.share;
    this.part("progress").textContent = `${told.progress} (${Math.round(100 * told.share)} %)`;
    this.onProgress(told);
  }

  cancel() {
    if (this.job) ask(`jobs/${this.job}`, { method: "DELETE" }).catch(() => {});
    this.job = "";
    this.part("work").hidden = true;
    this.say("");
  }
}
