// The page of a group: numbers under the chosen settings, a cursor over siblings and steps, and what follows from both.
"use strict";

const form = document.getElementById("options");
const lanes = document.getElementById("lanes");
const all = new Map([...lanes.querySelectorAll(".lane")].map((lane) => [Number(lane.dataset.sibling), lane]));
const url = form.dataset.url; // absent from a page that was saved
const VERDICTS = {
  claimed: "",
  below_threshold: "unlike",
  behind_frontier: "no progress",
  position_taken: "taken",
};
const cursor = { sibling: null, step: null };
let result = page.result;

const steps = (index) => all.get(index).querySelector("tbody").rows;
const actionOf = (index, step) => steps(index)[step].querySelector(".action").textContent;
const matchOf = (index) => (result ? result.matches.find((match) => match.rollout === index) : undefined);

function show() {
  const scale = result ? largest(Object.values(result.advantages.scpo.total)) : 0;
  if (result) for (const match of result.matches) match.shown = result.credit[match.rollout];
  const reference = result ? result.reference : null;
  for (const [index, lane] of all) {
    lane.classList.toggle("is-reference", index === reference);
    const credit = result ? result.credit[index] : [];
    const earned = credit.reduce((sum, value) => sum + value, 0);
    lane.querySelector(".earned").textContent = lane.dataset.won === "0" && result ? `credit ${signed(earned)}` : "";
    [...steps(index)].forEach((row, step) => showStep(row, index, step, scale));
  }
  const ordered = [...all.keys()].sort((one, other) => (other === reference) - (one === reference) || one - other);
  const now = [...lanes.querySelectorAll(".lane")].map((lane) => Number(lane.dataset.sibling));
  if (String(now) !== String(ordered)) lanes.append(...ordered.map((index) => all.get(index)));
  fitReference();
  showOverview(scale);
  showStatus();
  showCursor();
}

function showStep(row, index, step, scale) {
  const match = matchOf(index);
  const credit = result ? result.credit[index][step] : 0;
  const [like, earned, advantage] = [".like", ".credit", ".advantage"].map((name) => row.querySelector(name));
  row.classList.toggle("is-credited", credit > 0);
  like.replaceChildren();
  if (match) {
    const position = match.position[step];
    like.append(match.score[step].toFixed(2));
    const words = VERDICTS[match.verdict[step]];
    const link = document.createElement("a");
    link.href = `#s${result.reference}-${position}`;
    link.className = "to";
    link.title = `reference step ${position}: ${actionOf(result.reference, position)}`;
    link.textContent = `→ ${position}`;
    link.addEventListener("click", (event) => {
      event.preventDefault();
      moveTo(result.reference, position);
    });
    like.append(" ", link);
    if (words) like.append(" ", Object.assign(document.createElement("small"), { textContent: words }));
  }
  earned.textContent = credit > 0 ? signed(credit) : match ? "0" : "";
  earned.dataset.value = credit;
  if (result) showAdvantage(advantage, result.advantages.scpo.total[index][step], scale);
}

/** A row of marks for each sibling: the whole group at a glance, and a way to any step. */
function showOverview(scale) {
  const list = document.getElementById("overview");
  const longest = Math.max(1, ...[...all.keys()].map((index) => steps(index).length));
  const rows = [...all.keys()].map((index) => {
    const count = steps(index).length;
    const item = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset.sibling = index;
    const won = all.get(index).dataset.won === "1";
    const earned = result ? result.credit[index].reduce((sum, value) => sum + value, 0) : 0;
    const isReference = result && result.reference === index;
    button.textContent = `${index} ${won ? "✓" : "✗"}`;
    button.setAttribute("aria-label", `Sibling ${index}, ${won ? "won" : "failed"}, ${count} steps, credit ${signed(earned)}${isReference ? ", reference" : ""}`);
    button.addEventListener("click", () => moveTo(index, 0));
    const strip = svg("svg", { viewBox: `0 0 ${longest * 10} 20`, preserveAspectRatio: "none", class: "strip", "aria-hidden": "true" });
    for (let step = 0; step < count; step++) {
      const value = result ? result.advantages.scpo.total[index][step] : 0;
      const share = scale ? Math.min(1, Math.abs(value) / scale) : 0;
      const tall = 1 + 9 * share;
      strip.append(svg("rect", { x: step * 10, y: value > 0 ? 10 - tall : 10, width: 8.5, height: tall, class: value > 0 ? "is-reward" : value < 0 ? "is-penalty" : "is-nothing" }));
      if (result && result.credit[index][step] > 0) strip.append(svg("rect", { x: step * 10 + 2, y: value > 0 ? 13 : 4, width: 4.5, height: 3.5, class: "is-dot" }));
    }
    strip.addEventListener("click", (event) => {
      const box = strip.getBoundingClientRect();
      moveTo(index, Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - box.left) / box.width) * longest))));
    });
    const note = document.createElement("span");
    note.className = "note";
    note.textContent = isReference ? "reference" : earned ? signed(earned) : "";
    item.append(button, strip, note);
    return item;
  });
  list.style.setProperty("--strip", `${longest * 32}px`);
  list.replaceChildren(...rows);
}

function showStatus() {
  const status = document.getElementById("status");
  if (page.problem) {
    status.textContent = page.problem;
    status.className = "fault";
    return;
  }
  status.className = "";
  const failed = result.matches.reduce((sum, match) => sum + match.claimed.length, 0);
  const claimed = result.matches.reduce((sum, match) => sum + match.claimed.filter(Boolean).length, 0);
  const earned = result.credit.flat().reduce((sum, value) => sum + value, 0);
  status.textContent = result.matches.length
    ? `${claimed} of ${failed} failed steps credited, ${earned.toFixed(2)} in all, at λ ${result.options.lam}.`
    : "No credit: SCPO needs a success and a failed step in the same group.";
}

function showWhatIf() {
  const table = document.getElementById("what-if");
  const level = document.getElementById("level").value;
  const index = cursor.sibling;
  document.getElementById("what-if-of").textContent = index === null ? "" : `sibling ${index} under three estimators`;
  table.tBodies[0].replaceChildren();
  if (!result || index === null) return;
  const names = ["scpo", "gigpo", "grpo"];
  const trained = table.tHead.rows[0].cells.length > 6;
  const scales = Object.fromEntries(names.map((name) => [name, largest(result.advantages[name][level])]));
  const rows = [...steps(index)].map((row, step) => {
    const line = document.createElement("tr");
    line.classList.toggle("is-now", step === cursor.step);
    line.classList.toggle("is-credited", result.credit[index][step] > 0);
    const number = Object.assign(document.createElement("th"), { scope: "row", className: "n", textContent: step });
    const action = Object.assign(document.createElement("td"), { className: "action", textContent: actionOf(index, step) });
    line.append(number, action);
    for (const name of names) {
      const cell = Object.assign(document.createElement("td"), { className: "n advantage" });
      cell.dataset.estimator = name;
      showAdvantage(cell, result.advantages[name][level][index][step], scales[name]);
      line.append(cell);
    }
    const gain = result.advantages.scpo[level][index][step] - result.advantages.gigpo[level][index][step];
    const difference = Object.assign(document.createElement("td"), { className: "n gain", textContent: Math.abs(gain) < 0.005 ? "·" : signed(gain) });
    difference.dataset.value = gain;
    line.append(difference);
    if (trained) {
      const before = row.querySelector(".advantage").dataset.trained;
      line.append(Object.assign(document.createElement("td"), { className: "n", textContent: before === undefined ? "–" : signed(Number(before)) }));
    }
    return line;
  });
  table.tBodies[0].append(...rows);
}

function showMatrix() {
  const match = cursor.sibling === null ? undefined : matchOf(cursor.sibling);
  const title = document.getElementById("matrix-of");
  const readout = document.getElementById("matrix-readout");
  const claims = match ? match.claimed.filter(Boolean).length : 0;
  title.textContent = match ? `sibling ${match.rollout} (down) and reference ${result.reference} (across)` : "";
  const beside = result && result.matches.length ? "Choose a failed sibling: a success is compared with nothing." : "Nothing was compared in this group.";
  readout.textContent = match ? `${match.claimed.length} × ${match.scores?.[0]?.length ?? "?"} steps, ${claims} claimed` : beside;
  matrix.canvas.setAttribute("aria-label", match ? `Similarity of ${match.claimed.length} steps of sibling ${match.rollout} to the reference's steps; ${claims} claimed: ${match.claimed.map((one, step) => (one ? `${step} to ${match.position[step]}` : "")).filter(Boolean).join(", ") || "none"}` : beside);
  drawMatrix(match, result ? result.options.lam : 0, cursor);
}

function showCursor() {
  for (const [index, lane] of all) {
    lane.classList.toggle("is-active", index === cursor.sibling);
    [...steps(index)].forEach((row, step) => row.classList.toggle("is-now", index === cursor.sibling && step === cursor.step));
  }
  for (const button of document.querySelectorAll("#overview button")) {
    button.setAttribute("aria-current", Number(button.dataset.sibling) === cursor.sibling ? "true" : "false");
  }
  showMatrix();
  showWhatIf();
  drawLines(result, cursor);
}

/** Moves the cursor and brings it into view, beside the reference. */
function moveTo(index, step) {
  if (!all.has(index)) return;
  cursor.sibling = index;
  cursor.step = steps(index).length ? Math.max(0, Math.min(step, steps(index).length - 1)) : null;
  history.replaceState(null, "", `${location.href.split("#")[0]}#s${index}-${cursor.step ?? 0}`);
  bringIntoView();
  showCursor();
}

/**
 * Scrolls the lanes, not the page, until the cursor's sibling stands beside the reference and its step below the heads;
 * the reference scrolls to the position that the step asks for.
 */
function bringIntoView() {
  const lane = all.get(cursor.sibling);
  const reference = lanes.querySelector(".is-reference");
  if (lane !== reference) {
    const taken = reference ? reference.offsetWidth + parseFloat(getComputedStyle(lanes).columnGap) : 0;
    lanes.scrollLeft = Math.max(0, lane.offsetLeft - taken);
  }
  if (cursor.step === null) return;
  const row = steps(cursor.sibling)[cursor.step];
  showRow(lane === reference ? reference : lanes, row);
  const match = matchOf(cursor.sibling);
  if (!match || !reference) return;
  const target = rowOf(reference, match.position[cursor.step]);
  reference.scrollTop += target.getBoundingClientRect().top - row.getBoundingClientRect().top;
}

/** Scrolls until a row stands below the sticky heads. */
function showRow(scroller, row) {
  const [frame, at] = [scroller.getBoundingClientRect(), row.getBoundingClientRect()];
  const head = row.closest("table").querySelector("thead th").getBoundingClientRect().bottom;
  const bottom = frame.top + scroller.clientHeight;
  if (at.top < head) scroller.scrollTop += at.top - head - 8;
  else if (at.bottom > bottom) scroller.scrollTop += at.bottom - bottom + 60;
}

/** The reference is as tall as what can be seen of the lanes. */
function fitReference() {
  const tallest = Math.max(0, ...[...all.values()].map((lane) => (lane.classList.contains("is-reference") ? 0 : lane.offsetHeight)));
  const reference = lanes.querySelector(".is-reference");
  if (!reference) return;
  const own = [...reference.children].reduce((sum, child) => sum + child.offsetHeight, 0);
  const most = parseFloat(getComputedStyle(lanes).maxHeight);
  lanes.style.setProperty("--view", `${Math.min(Math.max(tallest, own), most)}px`);
}

function moveSibling(by) {
  const order = [...lanes.querySelectorAll(".lane")].map((lane) => Number(lane.dataset.sibling));
  if (!order.length) return false;
  const at = order.indexOf(cursor.sibling);
  moveTo(order[Math.max(0, Math.min(order.length - 1, at + by))], cursor.step ?? 0);
}

onKey(["h", "ArrowLeft"], () => moveSibling(-1));
onKey(["l", "ArrowRight"], () => moveSibling(1));
onKey(["j", "ArrowDown"], () => moveTo(cursor.sibling, (cursor.step ?? -1) + 1));
onKey(["k", "ArrowUp"], () => moveTo(cursor.sibling, (cursor.step ?? 1) - 1));
onKey(["c"], () => {
  const match = cursor.sibling === null ? undefined : matchOf(cursor.sibling);
  if (!match) return false;
  const later = match.claimed.findIndex((claimed, step) => claimed && step > cursor.step);
  const next = later >= 0 ? later : match.claimed.indexOf(true);
  if (next >= 0) moveTo(cursor.sibling, next);
});
onKey(["Enter", "o"], () => {
  if (cursor.sibling === null || cursor.step === null) return false;
  const fold = steps(cursor.sibling)[cursor.step].querySelector("details");
  fold.open = !fold.open;
});

// Settings

/** What the address says beside settings: the filter of the list that the group was opened from. */
const kept = new URLSearchParams(location.search);
const initial = new Map(query(form));
for (const name of initial.keys()) kept.delete(name);

async function recompute(ownThreshold = false) {
  const chosen = query(form);
  if (ownThreshold) chosen.delete("lam"); // another matcher, another threshold: its own
  for (const slider of form.querySelectorAll("input[type=range]")) {
    const value = slider.name === "lam" && !url ? keptResult(Number(slider.value)).options.lam : valueOf(slider);
    document.getElementById(`${slider.id}-value`).textContent = value;
  }
  if (!url) {
    result = keptResult(Number(chosen.get("lam")));
  } else {
    try {
      result = await askServer(url, chosen, result);
      page.problem = "";
    } catch (error) {
      if (error.name === "AbortError") return;
      page.problem = error.message;
      document.getElementById("status").textContent = error.message;
      document.getElementById("status").className = "fault";
      return;
    }
    if (ownThreshold) showThreshold();
    remember(query(form));
  }
  show();
  form.dataset.shown = form.elements.lam.value;
}

function showThreshold() {
  const slider = form.elements.lam;
  if (result) slider.value = slider.dataset.exact = result.options.lam;
  document.getElementById("lam-value").textContent = valueOf(slider);
}

/** Settings that differ from those of the page become part of its address, and of what is saved. */
function remember(chosen) {
  const said = new URLSearchParams(kept);
  for (const [name, value] of chosen) said.set(name, value);
  history.replaceState(null, "", `${location.pathname}?${said}${location.hash}`);
  for (const link of document.querySelectorAll("[data-export]")) link.href = `${url}/${link.dataset.export}?${chosen}`;
}

form.addEventListener("submit", (event) => event.preventDefault());
let waiting = 0;
function recomputeSoon(event) {
  delete event.target.dataset.exact;
  clearTimeout(waiting);
  waiting = setTimeout(recompute, url ? 60 : 0, event.target.name === "matcher");
}
for (const slider of form.querySelectorAll("input")) slider.addEventListener("input", recomputeSoon);
for (const select of form.querySelectorAll("select")) select.addEventListener("change", recomputeSoon);
document.getElementById("reset")?.addEventListener("click", () => {
  location.href = `${location.pathname}${String(kept) ? `?${kept}` : ""}`;
});
document.getElementById("level").addEventListener("change", showWhatIf);

// Texts that a page does not hold in full

lanes.addEventListener("click", async (event) => {
  const row = event.target.closest("tbody tr");
  if (row && !event.target.closest("a, button")) {
    cursor.sibling = Number(row.closest(".lane").dataset.sibling);
    cursor.step = Number(row.dataset.step);
    showCursor();
  }
  if (!event.target.matches(".whole")) return;
  const sibling = row.closest(".lane").dataset.sibling;
  const text = await (await fetch(`${url}/text?rollout=${sibling}&step=${row.dataset.step}`)).json();
  row.querySelector(".observation").textContent = text.observation;
  row.querySelector(".action").textContent = text.action;
  event.target.remove();
});

// The heat map

matrix.canvas.addEventListener("pointermove", (event) => {
  const at = cellAt(event);
  if (!at) return;
  const [step, position] = at;
  const match = matrix.match;
  const best = match.position[step] === position ? `, ${match.claimed[step] ? `claimed, credit ${signed(match.shown[step])}` : VERDICTS[match.verdict[step]]}` : "";
  document.getElementById("matrix-readout").textContent = `${step} ${actionOf(match.rollout, step)} / ${position} ${actionOf(result.reference, position)}: ${match.scores[step][position].toFixed(3)}${best}`;
});
matrix.canvas.addEventListener("click", (event) => {
  const at = cellAt(event);
  if (at) moveTo(matrix.match.rollout, at[0]);
});

// What moves the lines

let frame = 0;
function redraw() {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => drawLines(result, cursor));
}
addEventListener("scroll", redraw, { passive: true, capture: true });
lanes.addEventListener("toggle", () => { fitReference(); redraw(); }, true);
let width = 0;
new ResizeObserver(() => {
  fitReference();
  redraw();
  if (width !== innerWidth) showMatrix();
  width = innerWidth;
}).observe(document.getElementById("stage"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showMatrix);

// Where to begin: at the step of the address, else at the first credited step of the failed sibling with the most credit

function firstPlace() {
  const said = /^#s(\d+)-(\d+)$/.exec(location.hash);
  if (said && all.has(Number(said[1]))) return said.slice(1).map(Number);
  const matches = result ? result.matches : [];
  const earned = (match) => result.credit[match.rollout].reduce((sum, value) => sum + value, 0);
  const best = matches.length ? matches.reduce((one, other) => (earned(other) > earned(one) ? other : one)) : null;
  return best ? [best.rollout, Math.max(0, best.claimed.indexOf(true))] : [[...all.keys()][0] ?? null, 0];
}

showThreshold();
const [sibling, step] = firstPlace();
if (sibling !== null) Object.assign(cursor, { sibling, step: steps(sibling).length ? Math.min(step, steps(sibling).length - 1) : null });
show();
if (sibling !== null) bringIntoView();
if (url) for (const link of document.querySelectorAll("[data-export]")) link.href = `${url}/${link.dataset.export}?${query(form)}`;
