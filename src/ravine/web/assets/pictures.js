// The pictures of the page: each has a layer that shows it at once, and Plotly's graph below, which
// takes over when nothing moves any more.
(function (ravine) {
  "use strict";

  const byId = (id) => document.getElementById(id);
  ravine.byId = byId;

  class Picture {
    constructor(id) {
      this.id = id;
      this.key = null; // of what is shown, as Python names it
      this.figure = null;
      this.fine = false;
      this.handed = null; // the key of what Plotly was given
      this.watched = null;
    }

    get layer() {
      return byId(`${this.id}-layer`);
    }

    get graph() {
      return document.querySelector(`#${this.id} .js-plotly-plot`);
    }

    get size() {
      const place = this.layer && this.layer.parentElement;
      return place ? [place.clientWidth, place.clientHeight] : [0, 0];
    }

    get frame() {
      const [width, height] = this.size;
      return this.figure && width ? ravine.frame(this.figure.layout, width, height) : null;
    }

    take({ key, figure, fine }) {
      this.key = key;
      this.figure = figure;
      this.fine = fine;
      figure.layout.meta = key; // by which Plotly's picture is known
      this.draw();
    }

    // On the layer; one that is hidden has no size, and is drawn when it is shown.
    draw() {
      const [width, height] = this.size;
      if (!this.figure || !width) return;
      ravine.draw(this.layer, this.figure, width, height);
      this.layer.dataset.shown = this.key; // for whoever asks whether it is painted already
      this.layer.hidden = false;
    }

    get waits() {
      return this.figure && this.size[0] && !this.layer.hidden && this.handed !== this.key;
    }

    // Plotly's picture is the same: once it is there, the layer goes away.
    handOver() {
      this.handed = this.key;
      this.watch();
      window.dash_clientside.set_props(this.id, { figure: this.figure });
    }

    watch() {
      const { graph } = this;
      if (!graph || !graph.on || this.watched === graph) return;
      this.watched = graph;
      graph.on("plotly_afterplot", () => {
        if (graph.layout && graph.layout.meta === this.key) this.layer.hidden = true;
      });
    }
  }

  const all = { plane: new Picture("plane"), run: new Picture("run"), turning: new Picture("turning") };

  // Of the two that show the method at work only one is on the page.
  ravine.pictures = {
    plane: all.plane,
    get run() {
      return ravine.settings.example === "turning" ? all.turning : all.run;
    },
    each: (visit) => Object.values(all).forEach(visit),
  };

  ravine.show = function ({ plane, run }) {
    if (plane) {
      all.plane.take(plane);
      ravine.legend("legend", plane.legend);
      byId("plane-wait").hidden = true;
      ravine.placePoint();
    }
    if (run) {
      byId("run-wrap").hidden = run.turning;
      byId("turning-wrap").hidden = !run.turning;
      (run.turning ? all.turning : all.run).take(run);
      ravine.legend("run-legend", run.legend);
      ravine.placeCurtain();
    }
  };

  const LEAVE = 300; // milliseconds of rest before Plotly draws: that holds up whoever moves on
  const PAUSE = 120; // and between two pictures, in which a move is heard
  let leaving = null;

  // One picture after the other, once nothing has moved for a while: Plotly takes longer than a move
  // may wait. It comes in a script of its own, which may be later than the first picture.
  function handOver() {
    const next = Object.values(all).find((picture) => picture.waits);
    if (!next) return;
    if (next.graph && next.graph.on) next.handOver();
    leaving = setTimeout(handOver, PAUSE);
  }

  ravine.leave = function () {
    clearTimeout(leaving);
    leaving = setTimeout(handOver, LEAVE);
  };

  ravine.stay = function () {
    clearTimeout(leaving);
    ravine.pictures.each((picture) => (picture.handed = null));
  };

  // The window has another size, or another room is shown.
  ravine.fit = function () {
    setTimeout(() => {
      ravine.pictures.each((picture) => {
        if (picture.layer && !picture.layer.hidden) picture.draw();
      });
      for (const drawn of document.querySelectorAll(".js-plotly-plot")) {
        if (drawn.offsetParent !== null && window.Plotly) window.Plotly.Plots.resize(drawn);
      }
      ravine.placePoint();
      ravine.placeCurtain();
    }, 60);
  };

  // --- to take away -----------------------------------------------------------------------

  ravine.save = function (what, format) {
    const { figure } = ravine.pictures[what];
    if (!figure || !window.Plotly) return;
    const { settings } = ravine;
    const point = {
      type: "scatter", mode: "markers", x: [Number(settings.step)], y: [Number(settings.beta)],
      marker: { size: 15, color: "#e69f00", line: { width: 2, color: "#000000" } },
      showlegend: false,
    };
    const plane = what === "plane";
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--ground").trim();
    const layout = { ...figure.layout, paper_bgcolor: paper };
    if (layout.legend) {
      layout.showlegend = true;
      layout.margin = { ...layout.margin, t: 44 };
    }
    window.Plotly.downloadImage(
      { data: plane ? [...figure.data, point] : figure.data, layout },
      { format, width: 900, height: plane ? 760 : 560, filename: `ravine-${what}` }
    );
  };
})((window.ravine = window.ravine || {}));
