// Words and numbers of an answer in their places, as text and never as markup.
(function (ravine) {
  "use strict";

  const { byId } = ravine;

  function say(id, words) {
    const place = byId(id);
    if (place.textContent !== words) place.textContent = words;
  }

  ravine.write = function (words) {
    for (const [key, [number, tone]] of Object.entries(words.rungs)) {
      say(`rung-${key}`, number);
      byId(`rung-${key}`).className = `number ${tone}`;
    }
    for (const place of document.querySelectorAll(".message[id^='message-']")) {
      say(place.id, words.complaints[place.id.replace("message-", "")] || "");
    }
    say("verdict", words.verdict);
    say("python-code", words.python);
    say("command-line", words.command);
  };

  ravine.writeCursor = function (numbers) {
    for (const [key, number] of Object.entries(numbers)) say(`cursor-${key}`, number);
  };

  function entry({ words, fill, colour, dash }) {
    const whole = document.createElement("span");
    const swatch = document.createElement("i");
    whole.className = "entry";
    if (fill) swatch.style.background = fill;
    else {
      const line = document.createElement("b");
      line.style.borderTop = `3px ${dash} ${colour}`;
      swatch.className = "line";
      swatch.append(line);
    }
    whole.append(swatch, words);
    return whole;
  }

  const drawn = {};

  ravine.legend = function (id, entries) {
    const said = JSON.stringify(entries);
    if (drawn[id] === said) return;
    drawn[id] = said;
    byId(id).replaceChildren(...entries.map(entry));
  };

  // The address holds all that is shown.
  ravine.address = function () {
    const { query } = ravine;
    window.history.replaceState(null, "", query ? `?${query}` : window.location.pathname);
  };
})((window.ravine = window.ravine || {}));
