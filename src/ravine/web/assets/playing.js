// Play, pause and step: a curtain before the run, or the next piece of the turning path.
(function (ravine) {
  "use strict";

  const ROUND = 60; // steps of the turning path, and pieces into which a run is cut to be played
  const BEAT = 220; // milliseconds between two frames of the path: a question to Python each
  const QUICK = 60; // of a run, whose steps are there already
  let turned = 12; // three rounds of four, before anybody plays it
  let shown = null; // steps of the run that are uncovered; null for all
  let timer = null;

  const turning = () => ravine.settings.example === "turning";

  function steps() {
    return Math.max(1, Math.round(Number(ravine.settings.K)) || 1);
  }

  ravine.turned = () => turned;

  ravine.placeCurtain = function () {
    const curtain = ravine.byId("curtain");
    const words = ravine.byId("at-step");
    const { frame } = ravine.pictures.run;
    if (!curtain || !words || !frame) return;
    if (turning() || shown === null) {
      curtain.style.display = "none";
      words.textContent = "";
      return;
    }
    const { inner } = frame;
    const left = frame.x.at(shown);
    curtain.style.display = "block";
    curtain.style.left = `${left}px`;
    curtain.style.width = `${Math.max(0, inner.left + inner.width - left)}px`;
    curtain.style.top = `${inner.top}px`;
    curtain.style.height = `${inner.height}px`;
    words.textContent = `step ${shown} of ${ravine.settings.K}`;
  };

  ravine.rewind = function () {
    if (turning()) {
      turned = 0;
      ravine.changed();
    } else {
      shown = 0;
      ravine.placeCurtain();
    }
  };

  ravine.advance = function (playing) {
    if (turning()) {
      turned = turned >= Math.min(ROUND, steps()) ? 0 : turned + 1;
      ravine.changed();
      return;
    }
    const stride = playing ? Math.max(1, Math.round(steps() / ROUND)) : 1;
    shown = (shown === null ? 0 : shown) + stride;
    if (shown >= steps()) {
      shown = null;
      stop();
    }
    ravine.placeCurtain();
  };

  function stop() {
    clearInterval(timer);
    timer = null;
    ravine.byId("play").textContent = "play";
  }

  ravine.togglePlay = function (button) {
    if (timer !== null) {
      stop();
      return;
    }
    button.textContent = "pause";
    timer = setInterval(() => ravine.advance(true), turning() ? BEAT : QUICK);
  };
})((window.ravine = window.ravine || {}));
