// The paper's claims: stored verdicts at first, measured again on request.
import { ask, Work } from "./asking.js";
import { byId, make } from "./draw.js";

let known = null;
const work = new Work("claims", (parts) => parts.forEach(take));

// After a new measurement, the row shows the new numbers and is marked.
function take({ id, row }) {
  const before = byId(`claim-${id}`);
  if (!before || before.dataset.row === row) return;
  before.outerHTML = row; // text with formulas, from Python
  byId(`claim-${id}`).className = "fresh";
  byId(`claim-${id}`).dataset.row = row;
}

async function start(task, figure = "") {
  try {
    await work.start({ task, figure });
    const result = await work.result();
    if (result && result.picture) live(result);
  } catch {
    work.say("The server does not answer.");
  }
}

function live({ picture, words: [title, caption, ...words] }) {
  byId("live").replaceChildren(
    make("h2", {}, title),
    make("img", { src: `data:image/png;base64,${picture}`, alt: caption }),
    make("ul", {}, ...words.map((line) => make("li", {}, line))),
  );
}

const button = (words, onclick) => make("button", { className: "quiet", onclick }, words);

// Loaded when the view is first shown.
export async function open() {
  if (known) return;
  known = await ask("claims");
  byId("claims").innerHTML = known.claims.map(({ row }) => row).join("");
  byId("claims-counts").textContent = known.counts;
  byId("figures").replaceChildren(
    button("All claims that need no figure", () => start("claims")),
    ...known.figures.map(([name, title]) => button(title, () => start("figure", name))),
  );
}
