// Keys that all pages share: help, fields, and lists whose rows are opened with Enter.
"use strict";

const keyActions = new Map();

/** Lets keys do something; the action says whether it used the key by returning anything but false. */
function onKey(keys, action) {
  for (const key of keys) keyActions.set(key, action);
}

/** Whether an element takes typed keys itself. */
function takesKeys(element) {
  return element.matches("input, select, textarea, [contenteditable]");
}

function follow(selector) {
  const link = document.querySelector(selector);
  if (!link) return false;
  link.click();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const help = document.getElementById("help");
  if (help.open) return; // the dialog closes itself with Escape
  const target = event.target instanceof Element ? event.target : document.body;
  if (takesKeys(target)) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (event.key === "Enter" && target.closest("a, button, summary")) return;
  const action = keyActions.get(event.key);
  if (action && action(event) !== false) event.preventDefault();
});

onKey(["?"], () => document.getElementById("help").showModal());
document.getElementById("help-button").addEventListener("click", () => document.getElementById("help").showModal());
onKey(["u"], () => follow("[data-up]"));
onKey(["n"], () => follow("a[rel=next]"));
onKey(["p"], () => follow("a[rel=prev]"));
onKey(["/"], () => {
  const field = document.querySelector("[data-search]") ?? document.getElementById("lam");
  if (!field) return false;
  field.focus();
  if (field.select) field.select();
});

// A list's cursor is its focused link, so that what is read aloud is what Enter opens.
function moveInList(step) {
  const links = [...document.querySelectorAll("a[data-row]")];
  if (!links.length) return false;
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1)];
  next.focus({ preventScroll: true });
  next.closest("tr").scrollIntoView({ block: "nearest" });
}

onKey(["j", "ArrowDown"], () => moveInList(1));
onKey(["k", "ArrowUp"], () => moveInList(-1));
