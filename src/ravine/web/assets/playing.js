// The run step by step: how much of it is shown, and the path on the four quadratics.
import { byId, colourOf, css, Picture } from "./draw.js";
import { settings } from "./controls.js";

const BEAT = 90; // milliseconds between two frames
const PIECES = 60; // into which a long run is divided
const RINGS = [0.12, 0.3, 0.5, 0.75, 1.05, 1.4]; // level lines, as shares of the picture
const MARGIN = 1.15;

const run = new Picture(byId("run"), { clip: () => shown });
const track = new Picture(byId("path"), { bare: true, extra: drawPath });
let shown = null; // steps that are shown; null for all
let timer = null;
let path = null;

const steps = () => (run.spec ? run.spec.x.high : 1);
const current = () => (shown === null ? steps() : Math.min(shown, steps()));

export function show(picture) {
  path = picture.path;
  byId("path").hidden = !path;
  run.show(picture);
  refresh();
}

// The frame contains all points so far, and is as wide as its container.
function frame() {
  const host = byId("path");
  let reach = 1;
  for (const { x, y } of Object.values(path.paths)) {
    for (let i = 0; i <= current(); i++) reach = Math.max(reach, Math.abs(x[i]), Math.abs(y[i]));
  }
  const wide = host.clientHeight ? host.clientWidth / host.clientHeight : 1;
  const axis = (high) => ({ label: "", low: -high, high, log: false });
  reach *= MARGIN;
  track.show({ x: axis(reach * Math.max(wide, 1)), y: axis(reach / Math.min(wide, 1)), layers: [], reach });
}

function drawPath(ctx, { spec: { reach } }) {
  const [x0, y0] = [track.toX(0), track.toY(0)];
  const unit = track.toX(reach) - x0; // the same in both directions
  const active = path.angles[current() % path.angles.length];
  for (const share of RINGS) {
    ctx.beginPath();
    ctx.ellipse(x0, y0, share * unit * path.ratio, share * unit, -active, 0, 2 * Math.PI);
    track.stroke(ctx, css("--level"), 1);
  }
  for (const angle of path.angles) {
    const [x, y] = [4 * reach * Math.cos(angle), 4 * reach * Math.sin(angle)];
    track.trace(ctx, [-x, x], [-y, y]);
    track.stroke(ctx, css("--faint"), 1, ":");
  }
  for (const [key, { x, y }] of Object.entries(path.paths).reverse()) {
    const last = current();
    track.trace(ctx, x, y, last + 1);
    track.stroke(ctx, colourOf(key), 1.8);
    track.mark(ctx, track.toX(x[last]), track.toY(y[last]), key, key === "sgd" ? "s" : "o");
  }
}

export function refresh() {
  if (path) frame();
  if (run.plot) run.plot.redraw(false);
  byId("at-step").textContent = shown === null ? "" : `step ${current()} of ${steps()}`;
}

function advance(stride = 1) {
  shown = (shown === null ? 0 : shown) + stride;
  if (shown >= steps()) {
    shown = null;
    pause();
  }
  refresh();
}

function pause() {
  clearInterval(timer);
  timer = null;
  byId("play").textContent = "Play";
}

function play() {
  byId("play").textContent = "Pause";
  timer = setInterval(() => {
    if (!document.hidden) advance(Math.max(1, Math.round(steps() / PIECES)));
  }, BEAT);
}

// The first screen plays, unless the user's system requests reduced motion.
export function begin() {
  byId("play").addEventListener("click", () => (timer === null ? play() : pause()));
  byId("advance").addEventListener("click", () => {
    pause();
    advance();
  });
  byId("rewind").addEventListener("click", () => {
    pause();
    shown = 0;
    refresh();
  });
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (settings.example !== "turning" || still) return;
  shown = 0;
  play();
}
