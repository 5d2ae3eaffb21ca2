// Pictures and words follow the settings: a coarse plane at once, the fine one when it rests, and
// what takes longest, the bound of the run and Plotly's own drawing, when it has rested a while.
(function (ravine) {
  "use strict";

  const REST = 170; // milliseconds without a change before the fine plane is asked for
  const DWELL = 500; // and after that before the bound is: both would hold up whoever moves on

  let resting = null;

  function wish(more) {
    const { plane, run } = ravine.pictures;
    return {
      settings: ravine.settings,
      theme: ravine.theme(),
      frame: ravine.turned(),
      plane: plane.key,
      run: run.key,
      ...more,
    };
  }

  function land(answer) {
    ravine.write(answer.words);
    ravine.show(answer);
    ravine.query = answer.query;
    // What is painted, for whoever wants to know whether it is already there.
    ravine.byId("plane-wrap").dataset.shown = answer.query;
  }

  function fail(error) {
    ravine.byId("verdict").textContent = `The page's server does not answer (${error.message}).`;
  }

  const move = ravine.latest(() => wish({}), land, fail);
  const fine = ravine.patient(fail);

  ravine.changed = function () {
    fine.drop();
    clearTimeout(resting);
    ravine.stay();
    ravine.placePoint();
    move();
    resting = setTimeout(rest, REST);
  };

  // Asks for what is still coarse, and goes on when it is there.
  function refine(already, more, then) {
    if (already) then();
    else {
      fine.ask(wish(more), (answer) => {
        land(answer);
        then();
      });
    }
  }

  function rest() {
    if (move.busy()) resting = setTimeout(rest, REST / 4);
    else refine(ravine.pictures.plane.fine, { fine: true }, rested);
  }

  function rested() {
    ravine.settle();
    ravine.address();
    resting = setTimeout(dwell, DWELL);
  }

  function dwell() {
    refine(ravine.pictures.run.fine, { fine: true, bound: true }, ravine.leave);
  }

  // The first answer, which was asked for before there was a page to show it on.
  ravine.begin = function (answer) {
    land(answer);
    rested();
  };
})((window.ravine = window.ravine || {}));
