// Requests to Python. A banner is shown while the server does not answer.
import { byId } from "./draw.js";

const AGAIN = 2000; // milliseconds between two attempts to reach the server
let absent = false;
const back = []; // what to do when it is back

export const whenBack = (action) => back.push(action);
export const sleep = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function gone() {
  if (absent) return;
  absent = true;
  byId("banner").hidden = false;
  byId("restart").textContent = `ravine explore --port ${window.location.port || 80}`;
  const look = () => fetch("assets/page.css", { method: "HEAD", cache: "no-store" }).catch(() => null);
  do await sleep(AGAIN);
  while (!(await look()));
  absent = false;
  byId("banner").hidden = true;
  back.forEach((action) => action());
}

// Arrays arrive as base64.
function unpacked(_, value) {
  if (!value || (value.f4 === undefined && value.u1 === undefined)) return value;
  const bytes = Uint8ClampedArray.from(atob(value.f4 ?? value.u1), (letter) => letter.charCodeAt(0));
  return value.u1 === undefined ? new Float32Array(bytes.buffer) : bytes;
}

// The answer. A server that cannot be reached is distinguished from one that refuses.
export async function ask(path, options = {}) {
  const reply = await fetch(path, { cache: "no-store", ...options }).catch((error) => {
    if (error.name !== "AbortError") gone();
    throw error;
  });
  if (!reply.ok) throw new Error(`the server refused this (${reply.status})`);
  return JSON.parse(await reply.text(), unpacked);
}

export const post = (path, value, signal) => ask(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(value),
  signal,
});

// One request at a time. Of the requests that arrive meanwhile, only the latest is sent, after the
// answer: a drag never leaves a queue behind it.
export function latest(request, land) {
  let again = false;
  let way = null; // of the pending request
  async function run() {
    again = true;
    if (way) return;
    while (again) {
      again = false;
      way = new AbortController();
      try {
        land(await post("answer", request(), way.signal));
      } catch (error) {
        if (error.name !== "AbortError" && !absent) console.error(error);
      }
    }
    way = null;
  }
  run.stop = () => way && way.abort();
  return run;
}

// A job of a view: its progress bar, its status, its message and its cancel button.
const LOOK = 300; // milliseconds between two checks
export class Work {
  constructor(view, onProgress) {
    this.part = (name) => byId(`${view}-${name}`);
    this.onProgress = onProgress;
    this.job = "";
    this.part("cancel").addEventListener("click", () => this.cancel());
  }

  say(words) {
    this.part("message").textContent = words;
  }

  async start(options, body) {
    this.cancel();
    this.job = (await ask(`jobs?${new URLSearchParams(options)}`, { method: "POST", body })).job;
  }

  // The result, or nothing; then a message gives the reason.
  async result() {
    const mine = this.job;
    for (;;) {
      const state = await ask(`jobs/${mine}`);
      if (this.job !== mine) return null;
      if (state.gone || state.refusal) {
        this.cancel();
        this.say(state.refusal || "The server no longer has this result.");
        return null;
      }
      this.progress(state);
      if (state.result) return state.result;
      await sleep(LOOK);
    }
  }

  progress({ progress, share, parts, result }) {
    this.part("work").hidden = false;
    this.part("cancel").hidden = Boolean(result);
    this.part("bar").value = share;
    this.part("progress").textContent = `${result ? "done" : progress} (${Math.round(100 * share)} %)`;
    this.onProgress(parts);
  }

  cancel() {
    if (this.job) ask(`jobs/${this.job}`, { method: "DELETE" }).catch(() => {});
    this.job = "";
    this.part("work").hidden = true;
    this.say("");
  }
}
