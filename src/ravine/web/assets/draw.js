// Pictures: uPlot gives axes and scales, a hook draws the layers that Python describes.
// Nothing here knows what a picture means.

const MARKERS = { o: "circle", s: "square", D: "diamond" };
const DASHES = { "-": [], "--": [7, 4], "-.": [7, 3, 2, 3], ":": [2, 3] };
const BESIDE = 0.7; // share of the width beyond which words stand to the left of a mark
const NARROW = 380; // pixels of a plane on a phone
const LABELS = 7; // most labels of a logarithmic axis
const known = { colours: {}, marks: {}, shades: [] };

export const byId = (id) => document.getElementById(id);
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function learn({ colours, marks, shades }) {
  Object.assign(known, { colours, marks, shades });
}

export function colourOf(name) {
  return known.colours[name] || (name.startsWith("#") ? name : css(`--${name}`));
}

export function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

// Layers arrive as base64 and are unpacked once.
function decoded(layer) {
  const out = { ...layer };
  for (const name of ["x", "y", "values"]) {
    if (typeof layer[name] === "string") out[name] = unpack(layer[name]);
  }
  return out;
}

function written(value) {
  const text = Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3)
    ? value.toExponential(0).replace("e+", "e") : String(Number(value.toPrecision(6)));
  return text.replace("-", "−");
}

function powers(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const apart = Math.max(1, Math.ceil((last - first + 1) / LABELS));
  const out = [];
  for (let n = Math.ceil(first / apart) * apart; n <= last; n += apart) out.push(10 ** n);
  return out;
}

const SCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
function power(value) {
  const n = Math.round(Math.log10(value));
  if (n >= -2 && n <= 2) return written(10 ** n);
  return `10${n < 0 ? "⁻" : ""}${[...String(Math.abs(n))].map((d) => SCRIPTS[d]).join("")}`;
}

export class Picture {
  constructor(host, { bare = false, clip = null } = {}) {
    this.host = host;
    this.bare = bare; // without axes
    this.clip = clip; // lines are drawn up to this x, if it returns one
    this.plot = null;
    this.spec = null;
    this.extra = null; // draws on top
    new ResizeObserver(() => this.fit()).observe(host);
  }

  show(spec) {
    this.spec = { ...spec, layers: spec.layers.map(decoded) };
    this.redraw();
  }

  redraw() {
    if (!this.spec || !this.host.clientWidth) return;
    const kind = JSON.stringify([this.spec.x.label, this.spec.x.log, this.spec.y.label, this.spec.y.log]);
    if (this.plot && this.kind === kind) this.plot.setData(this.ends());
    else this.make(kind);
  }

  // uPlot looks at its data for the ends of the scales only.
  ends() {
    const { x, y } = this.spec;
    return [[x.low, x.high], [y.low, y.high]];
  }

  make(kind) {
    const over = this.plot ? [...this.plot.over.children] : [];
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
    this.plot = new uPlot(options, this.ends(), this.host);
    this.plot.over.append(...over);
    if (this.ready) this.ready(this.plot);
  }

  size() {
    return { width: this.host.clientWidth, height: this.host.clientHeight };
  }

  fit() {
    if (!this.host.clientWidth) return;
    if (!this.plot) this.redraw();
    else this.plot.setSize(this.size());
    if (this.moved) this.moved();
  }

  scale(name) {
    return {
      time: false,
      distr: this.spec[name].log ? 3 : 1,
      range: () => [this.spec[name].low, this.spec[name].high],
    };
  }

  axis(name) {
    if (this.bare) return { show: false };
    const { log, label } = this.spec[name];
    const axis = {
      label,
      labelSize: 22,
      size: name === "x" ? 34 : 52,
      font: "12px system-ui, sans-serif",
      labelFont: "13px system-ui, sans-serif",
      stroke: () => css("--faint"),
      grid: { stroke: () => css("--line"), width: 1 },
      ticks: { stroke: () => css("--line"), width: 1, size: 5 },
      values: (_, splits) => splits.map(log ? power : written),
    };
    // uPlot's own search for ticks does not end on some logarithmic axes.
    if (log) {
      axis.splits = () => powers(this.spec[name].low, this.spec[name].high);
      axis.filter = (_, splits) => splits;
    }
    return axis;
  }

  // Places in pixels of the page, inside the frame, and back.
  at(x, y) {
    return [this.plot.valToPos(x, "x"), this.plot.valToPos(y, "y")];
  }

  back(left, top) {
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
    if (this.spec.layers.some(({ kind }) => kind === "fill" || kind === "heat")) {
      ctx.fillStyle = css("--outside");
      ctx.fillRect(bbox.left, bbox.top, bbox.width, bbox.height);
    }
    for (const layer of this.spec.layers) this[layer.kind](ctx, layer, bbox);
    if (this.extra) this.extra(ctx);
    ctx.restore();
  }

  trace(ctx, x, y) {
    let gap = true;
    ctx.beginPath();
    for (let i = 0; i < x.length; i++) {
      if (Number.isNaN(x[i]) || Number.isNaN(y[i])) gap = true;
      else {
        const [left, top] = [this.toX(x[i]), this.toY(y[i])];
        if (gap) ctx.moveTo(left, top);
        else ctx.lineTo(left, top);
        gap = false;
      }
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
    const last = this.clip && this.clip();
    if (last !== null && last !== undefined) {
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, this.toX(last) - bbox.left + this.ratio, bbox.height);
      ctx.clip();
    }
    ctx.globalAlpha = opacity;
    ctx.lineJoin = "round";
    this.trace(ctx, x, y);
    if (rim) this.stroke(ctx, "#0000008c", width + 1.8);
    this.stroke(ctx, colourOf(colour), width, dash);
    ctx.restore();
  }

  heat(ctx, { values, columns, low, high }, bbox) {
    const rows = values.length / columns;
    const image = new ImageData(columns, rows);
    const palette = known.shades.map((shade) => [1, 3, 5].map((i) => parseInt(shade.slice(i, i + 2), 16)));
    values.forEach((value, i) => {
      if (Number.isNaN(value)) return;
      const share = Math.min(1, Math.max(0, (value - low) / (high - low))) * (palette.length - 1);
      const first = Math.min(Math.floor(share), palette.length - 2);
      const place = 4 * ((rows - 1 - Math.floor(i / columns)) * columns + (i % columns));
      for (let c = 0; c < 3; c++) {
        image.data[place + c] = palette[first][c] + (share - first) * (palette[first + 1][c] - palette[first][c]);
      }
      image.data[place + 3] = 255;
    });
    const sheet = new OffscreenCanvas(columns, rows);
    sheet.getContext("2d").putImageData(image, 0, 0);
    ctx.drawImage(sheet, bbox.left, bbox.top, bbox.width, bbox.height);
  }

  dot(ctx, { x, y, key, words, named }) {
    const [colour, marker] = known.marks[key] || [colourOf(key), "o"];
    const [left, top] = [this.toX(x), this.toY(y)];
    this.marker(ctx, MARKERS[marker] || "circle", left, top, 5.5);
    ctx.fillStyle = colour;
    ctx.fill();
    this.stroke(ctx, "#000000", 1.5);
    if (!named) return;
    ctx.font = `600 ${12 * this.ratio}px system-ui, sans-serif`;
    const { bbox } = this.plot;
    // Beyond the ring around the point, on the side where there is space.
    const side = left - bbox.left > BESIDE * bbox.width ? -1 : 1;
    const [across, up] = this.narrow ? [-8, -22] : [19, 0];
    this.text(ctx, words, left + side * across * this.ratio, top - up * this.ratio, side < 0 ? "right" : "left", "#111", "#fffffff0");
  }

  marker(ctx, shape, left, top, size) {
    const r = size * this.ratio;
    ctx.beginPath();
    if (shape === "square") ctx.rect(left - r, top - r, 2 * r, 2 * r);
    else if (shape === "diamond") {
      [[0, -r], [r, 0], [0, r], [-r, 0]].forEach(([dx, dy]) => ctx.lineTo(left + 1.2 * dx, top + 1.2 * dy));
      ctx.closePath();
    } else ctx.arc(left, top, r, 0, 2 * Math.PI);
  }

  text(ctx, words, left, top, align, ink, halo) {
    ctx.textAlign = align;
    ctx.textBaseline = "middle";
    ctx.lineJoin = "round";
    if (halo) {
      ctx.strokeStyle = halo;
      ctx.lineWidth = 3.5 * this.ratio;
      ctx.strokeText(words, left, top);
    }
    ctx.fillStyle = ink;
    ctx.fillText(words, left, top);
  }

  // On a phone in short lines, and without those that point elsewhere: the legend has them all.
  words(ctx, { lines: wide, at, ink, points_at: target }) {
    if (this.narrow && target) return;
    const lines = this.narrow ? wide.join(" ").match(/.{1,12}(\s|$)/g) : wide;
    const high = (this.narrow ? 11 : 15) * this.ratio;
    const left = this.toX(at[0]);
    const top = Math.max(this.toY(at[1]), this.plot.bbox.top + 0.6 * high * lines.length);
    ctx.font = `${(this.narrow ? 10 : 12.5) * this.ratio}px system-ui, sans-serif`;
    if (target) {
      const [x, y] = [this.toX(target[0]), this.toY(target[1])];
      const upward = y < top ? -1 : 1;
      ctx.beginPath();
      ctx.moveTo(left, top + upward * high * 0.6 * lines.length);
      ctx.lineTo(x, y);
      this.stroke(ctx, ink, 1);
      this.marker(ctx, "circle", x, y, 2);
      ctx.fillStyle = ink;
      ctx.fill();
    }
    lines.forEach((line, i) => {
      this.text(ctx, line, left, top + (i - (lines.length - 1) / 2) * high, "center", ink);
    });
  }
}

function entry(layer) {
  const whole = document.createElement("span");
  const swatch = document.createElement("i");
  if (layer.kind === "fill") swatch.style.background = layer.colour;
  else if (layer.kind === "dot") {
    swatch.className = known.marks[layer.key][1] === "s" ? "mark" : "mark round";
    swatch.style.background = known.marks[layer.key][0];
  } else {
    const styles = { "-": "solid", "--": "dashed", "-.": "dashed", ":": "dotted" };
    swatch.className = layer.rim ? "line rim" : "line";
    swatch.append(document.createElement("b"));
    swatch.firstChild.style.borderTop = `3px ${styles[layer.dash]} ${colourOf(layer.colour)}`;
  }
  whole.append(swatch, layer.words);
  return whole;
}

function bar(layer) {
  const whole = document.createElement("span");
  const swatch = document.createElement("i");
  const ends = [layer.low, layer.high].map((end) => (layer.log ? power(10 ** end) : end.toFixed(2)));
  swatch.className = "bar";
  swatch.style.background = `linear-gradient(to right, ${known.shades.join(",")})`;
  whole.append(`${layer.words}: ${ends[0]} `, swatch, ` ${ends[1]}`);
  return whole;
}

export function legend(host, spec, first = []) {
  const entries = spec.layers.filter(({ kind, words, named }) => words && kind !== "words" && !named);
  const said = JSON.stringify([first, entries.map(({ x, y, values, ...rest }) => rest)]);
  if (host.dataset.said === said) return;
  host.dataset.said = said;
  const grounds = first.map(([words, colour]) => entry({ kind: "fill", words, colour }));
  host.replaceChildren(...grounds, ...entries.map((layer) => (layer.kind === "heat" ? bar(layer) : entry(layer))));
}
