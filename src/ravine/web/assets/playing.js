// The run step by step: how much of it is shown, and the path over the four quadratics.
import { byId, colourOf, css, Picture, unpack } from "./draw.js";
import { settings } from "./controls.js";

const BEAT = 90; // milliseconds between two frames
const PIECES = 60; // into which a long run is cut
const RINGS = [0.12, 0.3, 0.5, 0.75, 1.05, 1.4]; // level lines, as shares of the picture
const MARGIN = 1.15;

let shown = null; // steps that are shown; null for all
let timer = null;
let path = null;
let run = null;
let paths = null;
let levels = [];

const steps = () => (run && run.spec ? run.spec.x.high : 1);
const current = () => (shown === null ? steps() : Math.min(shown, steps()));

export function prepare() {
  run = new Picture(byId("run"), { clip: () => shown });
  path = new Picture(byId("path"), { bare: true });
  path.extra = drawPath;
  return { run, path };
}

export function takePath(told) {
  byId("path").hidden = !told;
  if (!told) return;
  paths = Object.fromEntries(Object.entries(told.paths).map(([key, text]) => [key, unpack(text)]));
  levels = told.levels.map(unpack);
  frame();
}

// The frame holds all points so far, and is as wide as its place.
function frame() {
  if (!paths || byId("path").hidden) return;
  let reach = 1;
  for (const points of Object.values(paths)) {
    for (let i = 0; i < 2 * (current() + 1); i++) reach = Math.max(reach, Math.abs(points[i]) || 0);
  }
  reach = Math.min(reach, 1e30) * MARGIN;
  const host = byId("path");
  const wide = host.clientWidth && host.clientHeight ? host.clientWidth / host.clientHeight : 1;
  const axis = (high) => ({ label: "", low: -high, high, log: false });
  path.spec = { x: axis(reach * Math.max(wide, 1)), y: axis(reach / Math.min(wide, 1)), layers: [], reach };
  path.redraw();
}

function drawPath(ctx) {
  const { reach } = path.spec;
  const active = levels[current() % levels.length];
  for (const share of RINGS) {
    const at = (k) => active.filter((_, i) => i % 2 === k).map((value) => value * share * reach);
    path.trace(ctx, at(0), at(1));
    path.stroke(ctx, css("--level"), 1);
  }
  for (const ring of levels) drawValley(ctx, ring, reach);
  for (const [key, points] of Object.entries(paths).reverse()) drawPoints(ctx, key, points);
}

// The flat direction of a quadratic: from its level line's farthest point through the middle.
function drawValley(ctx, ring, reach) {
  let far = 0;
  for (let i = 0; i < ring.length; i += 2) {
    if (Math.hypot(ring[i], ring[i + 1]) > Math.hypot(ring[far], ring[far + 1])) far = i;
  }
  const size = (4 * reach) / Math.hypot(ring[far], ring[far + 1]);
  const [x, y] = [ring[far] * size, ring[far + 1] * size];
  path.trace(ctx, [-x, x], [-y, y]);
  path.stroke(ctx, css("--faint"), 1, ":");
}

function drawPoints(ctx, key, points) {
  const last = Math.min(current(), points.length / 2 - 1);
  const part = points.subarray(0, 2 * (last + 1));
  path.trace(ctx, part.filter((_, i) => i % 2 === 0), part.filter((_, i) => i % 2 === 1));
  path.stroke(ctx, colourOf(key), 1.8);
  path.marker(ctx, key === "sgd" ? "square" : "circle", path.toX(points[2 * last]), path.toY(points[2 * last + 1]), 5.5);
  ctx.fillStyle = colourOf(key);
  ctx.fill();
  path.stroke(ctx, "#000", 1.5);
}

export function refresh() {
  frame();
  if (run.plot) run.plot.redraw(false);
  byId("at-step").textContent = shown === null ? "" : `step ${current()} of ${steps()}`;
}

export function rewind() {
  pause();
  shown = 0;
  refresh();
}

export function advance(stride = 1) {
  shown = (shown === null ? 0 : shown) + stride;
  if (shown >= steps()) {
    shown = null;
    pause();
  }
  refresh();
}

export function pause() {
  clearInterval(timer);
  timer = null;
  byId("play").textContent = "Play";
}

export function play() {
  if (timer !== null) {
    pause();
    return;
  }
  byId("play").textContent = "Pause";
  timer = setInterval(() => {
    if (!document.hidden) advance(Math.max(1, Math.round(steps() / PIECES)));
  }, BEAT);
}

// The first screen plays, unless the reader's system asks for little motion.
export function begin() {
  if (settings.example !== "turning") return;
  if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  shown = 0;
  play();
}
