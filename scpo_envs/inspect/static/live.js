// Lists follow what is being written: when the server's index has changed, marked parts of the page are fetched anew.
"use strict";

const live = document.getElementById("live");
const pause = 1500;

function showProgress(progress) {
  const text = progress < 1 ? `indexing, ${Math.floor(100 * progress)} %` : "live";
  if (live.textContent !== text) live.textContent = text;
}

/** Replaces the parts of this page that differ from a newer copy of it; the cursor stays where it was. */
function replaceParts(newer) {
  const cursor = document.activeElement?.getAttribute("href");
  for (const part of document.querySelectorAll("[data-live]")) {
    const copy = newer.getElementById(part.id);
    if (!copy || copy.innerHTML === part.innerHTML) continue;
    for (const [index, fold] of part.querySelectorAll("details").entries()) {
      const other = copy.querySelectorAll("details")[index];
      if (other) other.open = fold.open;
    }
    part.replaceChildren(...copy.childNodes);
  }
  if (cursor && document.activeElement === document.body) {
    document.querySelector(`a[href="${CSS.escape(cursor)}"]`)?.focus({ preventScroll: true });
  }
}

async function look() {
  try {
    const state = await (await fetch(live.dataset.url)).json();
    showProgress(state.progress);
    const unfinished = document.querySelector("[data-continue]") !== null;
    if (String(state.revision) !== live.dataset.revision || unfinished) {
      const page = await (await fetch(location.href)).text();
      replaceParts(new DOMParser().parseFromString(page, "text/html"));
      live.dataset.revision = state.revision;
    }
    delete live.dataset.lost;
  } catch {
    live.dataset.lost = "";
    live.textContent = "the inspector has stopped";
  }
  setTimeout(look, document.hidden ? 4 * pause : pause);
}

if (live) {
  showProgress(Number(live.dataset.progress));
  setTimeout(look, pause);
}
