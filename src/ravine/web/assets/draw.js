// Pictures: uPlot gives axes and scales, a hook draws the layers that Python describes.
// This file does not know what a picture means.

const DASHES = { "-": [], "--": [7, 4], "-.": [7, 3, 2, 3], ":": [2, 3] };
const BORDERS = { "-": "solid", "--": "dashed", "-.": "dashed", ":": "dotted" };
const FONT = "system-ui, sans-serif";
const BESIDE = 0.7; // share of the width beyond which labels stand to the left of a mark
const NARROW = 380; // pixels of a plane on a phone

export const byId = (id) => document.getElementById(id);
// A colour of the style sheet (for the current theme) for the canvas.
const probe = document.head.appendChild(document.createElement("i"));
export function css(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}
export const colourOf = (name) => (name.startsWith("#") ? name : css(`--${name}`));

export function make(tag, properties, ...children) {
  const out = Object.assign(document.createElement(tag), properties);
  out.append(...children);
  return out;
}

export class Picture {
  constructor(host, { bare = false, clip = () => null, extra = () => {} } = {}) {
    this.host = host;
    this.bare = bare; // without axes
    this.clip = clip; // lines are drawn up to this x, if it is given
    this.extra = extra; // draws on top
    this.ready = () => {}; // called with a new plot
    this.moved = () => {}; // called when positions in it may have changed
    this.plot = null;
    this.spec = null;
    new ResizeObserver(() => this.fit()).observe(host);
  }

  show(spec) {
    this.spec = spec;
    const host = byId(`${this.host.id}-legend`);
    if (host) legend(host, spec);
    if (!this.host.clientWidth) return;
    const { x, y } = spec;
    const kind = [x.label, x.log, y.label, y.log].join();
    // uPlot uses its data only for the ends of the scales.
    const ends = [[x.low, x.high], [y.low, y.high]];
    if (this.plot && this.kind === kind) this.plot.setData(ends);
    else this.build(kind, ends);
  }

  build(kind, ends) {
    if (this.plot) this.plot.destroy();
    this.kind = kind;
    const options = {
      ...this.size(),
      legend: { show: false },
      cursor: { show: false },
      padding: [10, 14, 4, 4],
      scales: { x: this.scale("x"), y: this.scale("y") },
      axes: [this.axis("x"), this.axis("y")],
      series: [{}, { stroke: "transparent", points: { show: false } }],
      hooks: { draw: [(plot) => this.draw(plot)] },
    };
    this.plot = new uPlot(options, ends, this.host);
    this.ready(this.plot);
  }

  size() {
    return { width: this.host.clientWidth, height: this.host.clientHeight };
  }

  fit() {
    if (!this.host.clientWidth || !this.spec) return;
    if (this.plot) this.plot.setSize(this.size());
    else this.show(this.spec);
  }

  scale(name) {
    const range = () => [this.spec[name].low, this.spec[name].high];
    return { time: false, distr: this.spec[name].log ? 3 : 1, range };
  }

  axis(name) {
    if (this.bare) return { show: false };
    const { log, label } = this.spec[name];
    const axis = {
      label,
      labelSize: 22,
      size: name === "x" ? 34 : 52,
      font: `12px ${FONT}`,
      labelFont: `13px ${FONT}`,
      stroke: () => css("--faint"),
      grid: { stroke: () => css("--line"), width: 1 },
      ticks: { stroke: () => css("--line"), width: 1, size: 5 },
    };
    if (!log) return axis;
    // Python sends the ticks: uPlot's own search for them does not end on some logarithmic axes.
    const [splits, values] = [() => this.spec[name].ticks, () => this.spec[name].words];
    return { ...axis, splits, values, filter: (_, all) => all };
  }

  // Convert a point to pixels of the page, inside the frame, and back.
  at(x, y) {
    return [this.plot.valToPos(x, "x"), this.plot.valToPos(y, "y")];
  }

  under({ clientX, clientY }) {
    const box = this.plot.over.getBoundingClientRect();
    const inside = (value, most) => Math.min(most, Math.max(0, value));
    const left = inside(clientX - box.left, box.width);
    const top = inside(clientY - box.top, box.height);
    return [this.plot.posToVal(left, "x"), this.plot.posToVal(top, "y")];
  }

  draw(plot) {
    const { ctx, bbox } = plot;
    this.ratio = uPlot.pxRatio || window.devicePixelRatio || 1;
    this.narrow = bbox.width < NARROW * this.ratio;
    this.toX = (value) => plot.valToPos(value, "x", true);
    this.toY = (value) => plot.valToPos(value, "y", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.lineJoin = "round";
    const { layers, outside } = this.spec;
    if (outside) {
      ctx.fillStyle = css("--outside");
      ctx.fillRect(bbox.left, bbox.top, bbox.width, bbox.height);
    }
    // Marks and their labels are placed first; labels of regions avoid them.
    const dots = layers.filter(({ kind }) => kind === "dot");
    this.taken = dots.map(({ x, y }) => this.box(this.toX(x), this.toY(y), 7, 7));
    for (const layer of layers) if (layer.kind !== "words") this[layer.kind](ctx, layer, bbox);
    for (const dot of dots) if (dot.named) this.name(ctx, dot, bbox);
    for (const layer of layers) if (layer.kind === "words") this.words(ctx, layer);
    this.extra(ctx, this);
    ctx.restore();
    this.moved();
  }

  trace(ctx, x, y, count = x.length) {
    let gap = true;
    ctx.beginPath();
    for (let i = 0; i < count; i++) {
      const [left, top] = [this.toX(x[i]), this.toY(y[i])];
      if (gap) ctx.moveTo(left, top);
      else ctx.lineTo(left, top);
      gap = Number.isNaN(left + top);
    }
  }

  stroke(ctx, colour, width, dash = "-") {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width * this.ratio;
    ctx.setLineDash(DASHES[dash].map((length) => length * this.ratio));
    ctx.stroke();
    ctx.setLineDash([]);
  }

  fill(ctx, { x, y, colour }) {
    this.trace(ctx, x, y);
    ctx.fillStyle = colour;
    ctx.fill("evenodd");
    this.stroke(ctx, "#ffffffcc", 1.2);
  }

  line(ctx, { x, y, colour, width, dash, opacity, rim }, bbox) {
    ctx.save();
    const last = this.clip();
    if (last !== null) {
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, this.toX(last) - bbox.left + this.ratio, bbox.height);
      ctx.clip();
    }
    ctx.globalAlpha = opacity;
    this.trace(ctx, x, y);
    if (rim) this.stroke(ctx, "#0000008c", width + 1.8);
    this.stroke(ctx, colourOf(colour), width, dash);
    ctx.restore();
  }

  heat(ctx, { pixels, columns }, bbox) {
    const image = new ImageData(pixels, columns);
    const sheet = new OffscreenCanvas(columns, image.height);
    sheet.getContext("2d").putImageData(image, 0, 0);
    ctx.drawImage(sheet, bbox.left, bbox.top, bbox.width, bbox.height);
  }

  dot(ctx, { x, y, colour, marker }) {
    this.mark(ctx, this.toX(x), this.toY(y), colour, marker);
  }

  // The label of a mark: outside the ring around the point if there is space; on a phone, below it.
  name(ctx, { x, y, words }, bbox) {
    ctx.font = `600 ${12 * this.ratio}px ${FONT}`;
    const [left, top] = [this.toX(x), this.toY(y)];
    const half = ctx.measureText(words).width / 2 + 4 * this.ratio;
    const [first, last] = [bbox.left + half, bbox.left + bbox.width - half];
    const beside = (side) => [left + side * (half + 15 * this.ratio), top];
    const below = (side) => [Math.max(first, Math.min(last, left)), top + side * 22 * this.ratio];
    const side = left - bbox.left > BESIDE * bbox.width ? -1 : 1;
    const across = [beside(side), beside(-side)].filter(([place]) => place >= first && place <= last);
    const places = this.narrow ? [below(1), below(-1), ...across] : [...across, below(1), below(-1)];
    const boxes = places.map((place) => this.box(...place, half / this.ratio, 8));
    const free = boxes.findIndex((box) => this.isFree(box));
    if (free < 0) return; // it is in the legend
    this.taken.push(boxes[free]);
    this.text(ctx, words, ...places[free], "center", "#111", "#fffffff0");
  }

  // Ends of a box around a point, and whether it is inside the frame and empty.
  box(x, y, across, up) {
    const [w, h] = [across * this.ratio, up * this.ratio];
    return [x - w, x + w, y - h, y + h];
  }

  isFree([left, right, top, bottom]) {
    const frame = this.plot.bbox;
    if (top < frame.top || bottom > frame.top + frame.height) return false;
    return this.taken.every(([l, r, t, b]) => right <= l || left >= r || bottom <= t || top >= b);
  }

  mark(ctx, left, top, colour, marker, size = 5.5) {
    const r = size * this.ratio;
    ctx.beginPath();
    if (marker === "s") ctx.rect(left - r, top - r, 2 * r, 2 * r);
    else if (marker === "D") {
      for (const [dx, dy] of [[0, -r], [r, 0], [0, r], [-r, 0]]) ctx.lineTo(left + 1.2 * dx, top + 1.2 * dy);
      ctx.closePath();
    } else ctx.arc(left, top, r, 0, 2 * Math.PI);
    ctx.fillStyle = colourOf(colour);
    ctx.fill();
    this.stroke(ctx, "#000000", 1.5);
  }

  text(ctx, words, left, top, align, ink, halo = "transparent") {
    ctx.textAlign = align;
    ctx.textBaseline = "middle";
    ctx.strokeStyle = halo;
    ctx.lineWidth = 3.5 * this.ratio;
    ctx.strokeText(words, left, top);
    ctx.fillStyle = ink;
    ctx.fillText(words, left, top);
  }

  // On a phone: short lines, without labels that point elsewhere or overlap others: the legend
  // has them all.
  words(ctx, { lines: wide, at, ink, points_at: target }) {
    if (this.narrow && target) return;
    const lines = this.narrow ? wide.join(" ").match(/.{1,12}(\s|$)/g) : wide;
    const high = this.narrow ? 11 : 15;
    ctx.font = `${(this.narrow ? 10 : 12.5) * this.ratio}px ${FONT}`;
    const side = 0.55 * Math.max(...lines.map((line) => ctx.measureText(line).width));
    const half = 0.6 * high * lines.length * this.ratio;
    const left = this.toX(at[0]);
    const top = Math.max(this.toY(at[1]), this.plot.bbox.top + half);
    const box = this.box(left, top, side / this.ratio, half / this.ratio);
    if (this.narrow && !this.isFree(box)) return;
    this.taken.push(box);
    if (target) {
      const [x, y] = [this.toX(target[0]), this.toY(target[1])];
      const share = Math.min(side / Math.abs(x - left), half / Math.abs(y - top)); // to the edge of the text
      ctx.beginPath();
      ctx.moveTo(left + share * (x - left), top + share * (y - top));
      ctx.lineTo(x, y);
      this.stroke(ctx, ink, 1);
      this.mark(ctx, x, y, ink, "o", 2);
    }
    lines.forEach((line, i) => {
      this.text(ctx, line, left, top + (i - (lines.length - 1) / 2) * high * this.ratio, "center", ink);
    });
  }
}

const swatches = {
  fill: ({ colour }) => make("i", { style: `background: ${colour}` }),
  dot: ({ colour, marker }) => make("i", { className: `mark ${marker}`, style: `background: ${colour}` }),
  heat: ({ shades }) => make("i", { className: "bar", style: `background: linear-gradient(to right, ${shades})` }),
  line: ({ colour, dash, rim }) => make("i", { className: rim ? "line rim" : "line" },
    make("b", { style: `border-top: 3px ${BORDERS[dash]} ${colourOf(colour)}` })),
};

// The legend of the layers: the picture may have no space for their labels.
function legend(host, { layers, outside }) {
  const around = { kind: "fill", words: outside, colour: css("--outside") };
  const entries = [around, ...layers].filter(({ kind, words }) => words && swatches[kind]);
  host.replaceChildren(...entries.map((layer) => {
    const [low, high] = layer.ends || ["", ""];
    const words = layer.ends ? `${layer.words}: ${low} ` : "";
    return make("span", {}, words, swatches[layer.kind](layer), high || layer.words);
  }));
}
