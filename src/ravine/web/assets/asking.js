// Questions to Python and their answers. Nothing here knows what is asked.
(function (ravine) {
  "use strict";

  async function post(wish, signal) {
    const reply = await fetch("answer", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(wish),
      signal,
    });
    if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
    return reply.json();
  }

  // One question is under way at a time. Of what is wished for meanwhile only the latest is asked
  // for, once the answer has come: a drag never leaves a queue behind it.
  ravine.latest = function (wish, land, fail) {
    let busy = false;
    let again = false;

    async function ask() {
      again = true;
      if (busy) return;
      busy = true;
      while (again) {
        again = false;
        try {
          land(await post(wish()));
        } catch (error) {
          fail(error);
        }
      }
      busy = false;
    }

    ask.busy = () => busy;
    return ask;
  };

  // A question that is given up as soon as something else matters: its answer is never shown.
  ravine.patient = function (fail) {
    let under = null;

    function drop() {
      if (under) under.abort();
      under = null;
    }

    async function ask(wish, land) {
      drop();
      const mine = (under = new AbortController());
      try {
        const answer = await post(wish, mine.signal);
        if (under !== mine) return;
        under = null;
        land(answer);
      } catch (error) {
        if (error.name !== "AbortError") fail(error);
      }
    }

    return { ask, drop };
  };

  ravine.once = post;
})((window.ravine = window.ravine || {}));
