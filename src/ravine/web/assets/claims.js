// The paper's claims: shipped verdicts at once, measured again on request.
import { ask, Work } from "./asking.js";
import { byId } from "./draw.js";

let known = null;
const work = new Work("claims", ({ parts }) => parts.forEach(take));

function row({ id, place, statement, measured, exact, verdict, tone }) {
  const out = document.createElement("tr");
  out.id = `claim-${id}`;
  // Our own words with formulas as MathML, made by Python.
  out.innerHTML = [place, statement, measured, exact].map((words) => `<td>${words}</td>`).join("")
    + `<td class="${tone}">${verdict}</td>`;
  return out;
}

function write() {
  byId("claims").replaceChildren(...known.claims.map(row));
  const count = (tone) => known.claims.filter((claim) => claim.tone === tone).length;
  byId("claims-counts").textContent = `Of ${known.claims.length} claims ${count("good")} hold, `
    + `${count("unsure")} hold with a correction, ${count("bad")} do not hold.`;
}

// Measured just now: the row shows the new numbers and says so.
function take(judged) {
  const claim = known.claims.find(({ id }) => id === judged.id);
  if (!claim || claim.live === JSON.stringify(judged)) return;
  Object.assign(claim, judged, { live: JSON.stringify(judged) });
  const fresh = row(claim);
  fresh.classList.add("fresh");
  byId(`claim-${claim.id}`).replaceWith(fresh);
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
  const head = document.createElement("h2");
  const image = new Image();
  const list = document.createElement("ul");
  head.textContent = title;
  image.src = `data:image/png;base64,${picture}`;
  image.alt = caption;
  list.append(...words.map((line) => Object.assign(document.createElement("li"), { textContent: line })));
  byId("live").replaceChildren(head, image, list);
}

function button(words, action) {
  const out = document.createElement("button");
  out.className = "quiet";
  out.textContent = words;
  out.addEventListener("click", action);
  return out;
}

// Loaded when the view is first shown.
export async function open() {
  if (known) return;
  known = await ask("claims");
  write();
  byId("figures").replaceChildren(
    button("All claims that need no figure", () => start("claims")),
    ...known.figures.map(([name, title]) => button(title, () => start("figure", name))),
  );
}
