// Draws the figures that Python sends, on a canvas and in a few milliseconds: what moves is drawn
// here, what rests by Plotly. Both read the same data, so that nobody sees which of them it was.
// It knows the part of Plotly's figures that this page has, and nothing of what they mean.
(function (ravine) {
  "use strict";

  const KINDS = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, i4: Int32Array };
  const TICK = 5; // pixels of a tick, and between it and its label
  const GAP = 3;

  function numbers(packed) {
    if (!packed || !packed.bdata) return packed || [];
    const text = atob(packed.bdata);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new KINDS[packed.dtype](bytes.buffer);
  }

  // --- where things are -------------------------------------------------------------------

  function axis(layout, start, length) {
    const log = layout.type === "log";
    let [low, high] = layout.range;
    return {
      start,
      length,
      get range() { return [low, high]; },
      widen(scale) {
        const middle = (low + high) / 2;
        const half = (scale * (high - low)) / 2;
        [low, high] = [middle - half, middle + half];
      },
      at: (value) => start + (length * ((log ? Math.log10(value) : value) - low)) / (high - low),
      back: (place) => {
        const inner = low + ((place - start) * (high - low)) / length;
        return log ? 10 ** inner : inner;
      },
    };
  }

  // The two axes of a figure in a box of some pixels.
  ravine.frame = function (layout, width, height) {
    const m = layout.margin;
    const inner = { left: m.l, top: m.t, width: width - m.l - m.r, height: height - m.t - m.b };
    const x = axis(layout.xaxis, inner.left, inner.width);
    const y = axis(layout.yaxis, inner.top + inner.height, -inner.height);
    if (layout.yaxis.scaleanchor) {
      // A unit is as long upward as across: the axis with more room shows more of it.
      const across = inner.width / (x.range[1] - x.range[0]);
      const upward = inner.height / (y.range[1] - y.range[0]);
      if (across > upward) x.widen(across / upward);
      else y.widen(upward / across);
    }
    return { x, y, inner };
  };

  // --- traces -----------------------------------------------------------------------------

  function shades(scale, count) {
    const table = new Uint8ClampedArray(4 * count);
    const stops = scale.map(([place, colour]) => [
      place,
      [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)),
    ]);
    let next = 1;
    for (let i = 0; i < count; i++) {
      const place = i / (count - 1);
      while (next < stops.length - 1 && stops[next][0] < place) next++;
      const [[from, a], [to, b]] = [stops[next - 1], stops[next]];
      const share = to > from ? Math.min(1, Math.max(0, (place - from) / (to - from))) : 1;
      for (let part = 0; part < 3; part++) table[4 * i + part] = a[part] + share * (b[part] - a[part]);
      table[4 * i + 3] = 255;
    }
    return table;
  }

  const SHADES = 1024;

  function heatmap(pen, trace, { inner }) {
    const values = numbers(trace.z);
    const [rows, columns] = trace.z.shape.split(",").map(Number);
    const table = shades(trace.colorscale, SHADES);
    const picture = new ImageData(columns, rows);
    const scale = (SHADES - 1) / (trace.zmax - trace.zmin);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const value = values[(rows - 1 - row) * columns + column];
        if (Number.isNaN(value)) continue;
        const place = Math.round((value - trace.zmin) * scale);
        const from = 4 * Math.min(SHADES - 1, Math.max(0, place));
        const to = 4 * (row * columns + column);
        for (let part = 0; part < 4; part++) picture.data[to + part] = table[from + part];
      }
    }
    const small = new OffscreenCanvas(columns, rows);
    small.getContext("2d").putImageData(picture, 0, 0);
    pen.imageSmoothingEnabled = false;
    pen.drawImage(small, inner.left, inner.top, inner.width, inner.height);
    if (trace.colorbar) bar(pen, trace, inner, table);
  }

  function dashes(line) {
    const unit = Math.max(3, line.width);
    const named = { solid: [], dot: [unit, unit], dash: [3 * unit, 3 * unit] };
    return named[line.dash || "solid"] || line.dash.split(",").map(parseFloat);
  }

  function line(pen, trace, { x, y }) {
    const across = numbers(trace.x);
    const upward = numbers(trace.y);
    pen.beginPath();
    let down = false;
    for (let i = 0; i < across.length; i++) {
      const left = across[i] === null ? NaN : x.at(across[i]);
      const top = upward[i] === null ? NaN : y.at(upward[i]);
      if (Number.isNaN(left) || Number.isNaN(top)) down = false;
      else if (down) pen.lineTo(left, top);
      else {
        pen.moveTo(left, top);
        down = true;
      }
    }
    pen.lineWidth = trace.line.width;
    pen.strokeStyle = trace.line.color;
    pen.setLineDash(dashes(trace.line));
    pen.stroke();
    pen.setLineDash([]);
  }

  // Thin lines that cross would be darker there: they are drawn first, and made faint together.
  let apart = null;

  function faintly(pen, trace, frame) {
    const { width, height } = pen.canvas;
    apart = apart || new OffscreenCanvas(width, height);
    if (apart.width !== width || apart.height !== height) [apart.width, apart.height] = [width, height];
    const other = apart.getContext("2d");
    other.setTransform(1, 0, 0, 1, 0, 0);
    other.clearRect(0, 0, width, height);
    other.setTransform(pen.getTransform());
    line(other, trace, frame);
    pen.save();
    pen.globalAlpha = trace.opacity;
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(apart, 0, 0);
    pen.restore();
  }

  function marks(pen, trace, { x, y }) {
    const { size, symbol, color, line: edge } = trace.marker;
    const across = numbers(trace.x);
    const upward = numbers(trace.y);
    for (let i = 0; i < across.length; i++) {
      const left = x.at(across[i]);
      const top = y.at(upward[i]);
      pen.beginPath();
      if ((Array.isArray(symbol) ? symbol[i] : symbol) === "square") {
        pen.rect(left - size / 2, top - size / 2, size, size);
      } else pen.arc(left, top, size / 2, 0, 2 * Math.PI);
      pen.fillStyle = color;
      pen.fill();
      if (!edge) continue;
      pen.lineWidth = edge.width;
      pen.strokeStyle = edge.color;
      pen.stroke();
    }
  }

  // --- words ------------------------------------------------------------------------------

  // Text in which a part may be raised, as in 10<sup>3</sup>. Returns the width that Plotly reckons
  // with when it puts a title beside it: that of raised parts at full size.
  function write(pen, words, left, top, size, family, align) {
    const parts = words.split(/<\/?sup>/);
    const fonts = parts.map((_, i) => `${i % 2 ? 0.7 * size : size}px ${family}`);
    const widths = parts.map((part, i) => {
      pen.font = fonts[i];
      return pen.measureText(part).width;
    });
    const all = widths.reduce((sum, one) => sum + one, 0);
    const reckoned = widths.reduce((sum, one, i) => sum + (i % 2 ? one / 0.7 : one), 0);
    let at = left - all * { left: 0, center: 0.5, right: 1 }[align];
    pen.textAlign = "left";
    pen.textBaseline = "alphabetic";
    parts.forEach((part, i) => {
      pen.font = fonts[i];
      pen.fillText(part, at, top - (i % 2 ? 0.42 * size : 0));
      at += widths[i];
    });
    return reckoned;
  }

  function ticks(pen, layout, { x, y, inner }) {
    const { family, size } = layout.font;
    const bottom = inner.top + inner.height;
    for (const [line, place, across] of [[layout.xaxis, x, true], [layout.yaxis, y, false]]) {
      let widest = 0;
      (line.tickvals || []).forEach((value, i) => {
        const at = place.at(value);
        const crisp = Math.round(at - 0.5) + 0.5;
        const seen = at >= (across ? inner.left : inner.top) - 1 &&
          at <= (across ? inner.left + inner.width : bottom) + 1;
        if (!seen) return;
        pen.lineWidth = 1;
        if (line.showgrid !== false) {
          pen.strokeStyle = line.gridcolor;
          pen.beginPath();
          pen.moveTo(across ? crisp : inner.left, across ? inner.top : crisp);
          pen.lineTo(across ? crisp : inner.left + inner.width, across ? bottom : crisp);
          pen.stroke();
        }
        if (line.showticklabels === false) return;
        pen.strokeStyle = line.tickcolor;
        pen.beginPath();
        pen.moveTo(across ? crisp : inner.left, across ? bottom : crisp);
        pen.lineTo(across ? crisp : inner.left - TICK, across ? bottom + TICK : crisp);
        pen.stroke();
        pen.fillStyle = line.color;
        const words = line.ticktext[i];
        if (across) write(pen, words, at, bottom + TICK + GAP + 1 + size, size, family, "center");
        else {
          const width = write(
            pen, words, inner.left - TICK - GAP - 1, at + 0.35 * size, size, family, "right"
          );
          widest = Math.max(widest, width);
        }
      });
      if (line.showline !== false) border(pen, line, inner, across);
      if (line.title && line.title.text) title(pen, layout, line, inner, across, widest);
    }
  }

  function border(pen, line, inner, across) {
    const bottom = inner.top + inner.height;
    pen.lineWidth = 1;
    pen.strokeStyle = line.linecolor;
    pen.beginPath();
    pen.moveTo(inner.left - (across ? 1 : 0.5), across ? bottom + 0.5 : inner.top);
    pen.lineTo(across ? inner.left + inner.width : inner.left - 0.5, bottom + (across ? 0.5 : 1));
    pen.stroke();
  }

  function title(pen, layout, line, inner, across, widest) {
    const { family, size } = layout.font;
    const own = line.title.font.size;
    const apart = TICK + GAP + line.title.standoff;
    pen.fillStyle = line.color;
    pen.save();
    if (across) {
      const top = inner.top + inner.height + apart + 0.95 * size + own;
      write(pen, line.title.text, inner.left + inner.width / 2, top, own, family, "center");
    } else {
      pen.translate(inner.left - apart - widest + 1, inner.top + inner.height / 2);
      pen.rotate(-Math.PI / 2);
      write(pen, line.title.text, 0, 0, own, family, "center");
    }
    pen.restore();
  }

  let letters = null; // font and ink of the figure that is drawn

  function bar(pen, trace, inner, table) {
    const { thickness, xpad, tickvals, ticktext } = trace.colorbar;
    const left = inner.left + inner.width + xpad;
    const column = new ImageData(1, SHADES);
    for (let i = 0; i < SHADES; i++) {
      for (let part = 0; part < 4; part++) column.data[4 * i + part] = table[4 * (SHADES - 1 - i) + part];
    }
    const small = new OffscreenCanvas(1, SHADES);
    small.getContext("2d").putImageData(column, 0, 0);
    pen.drawImage(small, left, inner.top, thickness, inner.height);
    pen.fillStyle = letters.color;
    tickvals.forEach((value, i) => {
      const share = (value - trace.zmin) / (trace.zmax - trace.zmin);
      if (share < -1e-6 || share > 1 + 1e-6) return;
      const top = inner.top + inner.height * (1 - share) + 0.35 * letters.size;
      write(pen, ticktext[i], left + thickness + GAP, top, letters.size, letters.family, "left");
    });
  }

  function note(pen, one, inner, family) {
    const { size, color } = one.font;
    const left = inner.left + one.x * inner.width;
    const top = inner.top + (1 - one.y) * inner.height;
    pen.fillStyle = color;
    if (one.textangle) {
      pen.save();
      pen.translate(left + one.xshift, top);
      pen.rotate((one.textangle * Math.PI) / 180);
      write(pen, one.text, 0, 0.35 * size, size, family, "center");
      pen.restore();
      return;
    }
    pen.font = `${size}px ${family}`;
    const { width } = pen.measureText(one.text);
    pen.fillStyle = one.bgcolor;
    pen.fillRect(left, top, width + 2, 1.3 * size + 2);
    pen.fillStyle = color;
    write(pen, one.text, left + 1, top + 2 + size, size, family, "left");
  }

  // --- the whole --------------------------------------------------------------------------

  ravine.draw = function (canvas, figure, width, height) {
    const dense = window.devicePixelRatio || 1;
    const [wide, high] = [Math.round(width * dense), Math.round(height * dense)];
    if (canvas.width !== wide || canvas.height !== high) {
      canvas.width = wide;
      canvas.height = high;
    }
    const pen = canvas.getContext("2d");
    const { data, layout } = figure;
    const frame = ravine.frame(layout, width, height);
    const { inner } = frame;
    letters = layout.font;
    pen.setTransform(dense, 0, 0, dense, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.lineJoin = "miter";
    pen.miterLimit = 2;
    pen.fillStyle = layout.plot_bgcolor;
    pen.fillRect(inner.left, inner.top, inner.width, inner.height);
    for (const trace of data) if (trace.type === "heatmap") heatmap(pen, trace, frame);
    ticks(pen, layout, frame);
    pen.save();
    pen.beginPath();
    pen.rect(inner.left, inner.top, inner.width, inner.height);
    pen.clip();
    for (const trace of data) {
      if (trace.type !== "scatter") continue;
      const faint = trace.opacity !== undefined;
      if (trace.mode.includes("lines")) (faint ? faintly : line)(pen, trace, frame);
      if (trace.mode.includes("markers")) marks(pen, trace, frame);
    }
    pen.restore();
    for (const one of layout.annotations || []) note(pen, one, inner, letters.family);
  };
})((window.ravine = window.ravine || {}));
