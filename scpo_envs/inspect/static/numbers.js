// Numbers as the pages of a group show them, and where they come from.
"use strict";

const page = JSON.parse(document.getElementById("data").textContent);

/** A number with its sign and a true minus. */
function signed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return (0).toFixed(digits);
  return (value < 0 ? "−" : "+") + text;
}

/** Fills a cell with an advantage: number, tint and bar, all by the same scale. */
function showAdvantage(cell, value, scale) {
  cell.dataset.value = value;
  const share = scale ? Math.min(1, Math.abs(value) / scale) : 0;
  cell.classList.toggle("is-reward", value > 0);
  cell.classList.toggle("is-penalty", value < 0);
  cell.style.setProperty("--share", share.toFixed(3));
  cell.textContent = signed(value);
}

/** The largest size of numbers in nested lists. */
function largest(values) {
  return values.flat(Infinity).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
}

/** What a slider stands for: until it is moved, a value that may lie between its stops. */
function valueOf(slider) {
  return slider.dataset.exact ?? slider.value;
}

function query(form) {
  const chosen = new URLSearchParams();
  for (const [name, value] of new FormData(form)) chosen.set(name, value);
  for (const slider of form.querySelectorAll("input[type=range]")) chosen.set(slider.name, valueOf(slider));
  return chosen;
}

/** The result that a kept page holds for the threshold nearest to one. */
function keptResult(lam) {
  const kept = page.thresholds.reduce((best, one) => (Math.abs(one.lam - lam) < Math.abs(best.lam - lam) ? one : best));
  const base = page.result;
  const same = kept.reference === base.reference;
  return {
    ...base,
    options: { ...base.options, lam: kept.lam },
    reference: kept.reference,
    credit: kept.credit,
    shaped: kept.shaped,
    matches: kept.matches.map((match, index) => ({ ...base.matches[index], ...match, scores: same ? base.matches[index].scores : null })),
    advantages: { ...base.advantages, scpo: kept.scpo },
  };
}

let asking = new AbortController();

/** Asks the server for the numbers under other settings; an older question still open is dropped. */
async function askServer(url, chosen, known) {
  asking.abort();
  asking = new AbortController();
  const same = known && ["matcher", "reference"].every((name) => known.options[name] === chosen.get(name));
  const fixed = same && known.options.reference !== "best_match"; // then similarities are those known
  const asked = new URLSearchParams(chosen);
  if (fixed) asked.set("scores", "0");
  const answer = await fetch(`${url}/credit?${asked}`, { signal: asking.signal });
  const result = await answer.json();
  if (!answer.ok) throw new Error(result.error);
  if (fixed) result.matches.forEach((match, index) => (match.scores = known.matches[index].scores));
  return result;
}
