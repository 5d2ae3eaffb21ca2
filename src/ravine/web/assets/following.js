// Pictures and words follow the settings: a coarse plane at once, the fine one when it rests.
(function (ravine) {
  "use strict";

  const REST = 170; // milliseconds without a change before the fine picture is asked for

  let resting = null;

  function wish(fine) {
    const { plane, run } = ravine.pictures;
    return {
      settings: ravine.settings,
      theme: ravine.theme(),
      fine,
      frame: ravine.turned(),
      plane: plane.key,
      run: run.key,
    };
  }

  function land(answer) {
    ravine.write(answer.words);
    ravine.show(answer);
    ravine.query = answer.query;
    // What is painted, for whoever wants to know whether it is already there.
    ravine.byId("plane-wrap").dataset.shown = answer.query;
  }

  const move = ravine.latest(() => wish(false), land, failed);
  const fine = ravine.patient(
    () => wish(true),
    (answer) => {
      land(answer);
      rested();
    },
    failed
  );

  function failed(error) {
    ravine.byId("verdict").textContent = `The page's server does not answer (${error.message}).`;
  }

  ravine.changed = function () {
    fine.drop();
    clearTimeout(resting);
    ravine.stay();
    ravine.placePoint();
    move();
    resting = setTimeout(rest, REST);
  };

  function rest() {
    if (move.busy()) resting = setTimeout(rest, REST / 4);
    else if (ravine.pictures.plane.fine && ravine.pictures.run.fine) rested();
    else fine.ask();
  }

  function rested() {
    ravine.settle();
    ravine.address();
    ravine.leave();
  }

  // The first answer, which was asked for before there was a page to show it on.
  ravine.begin = function (answer) {
    land(answer);
    rested();
  };
})((window.ravine = window.ravine || {}));
