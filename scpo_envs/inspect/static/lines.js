// Lines from credited steps to the reference positions they claimed, drawn over the lanes.
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

/** Draws the claims of all siblings; those of the active one stand out, that of the active step most. */
function drawLines(result, cursor) {
  const overlay = document.getElementById("lines");
  const lanes = document.getElementById("lanes");
  const drawn = document.createDocumentFragment();
  const reference = result && result.reference !== null ? document.getElementById(`sibling-${result.reference}`) : null;
  if (reference) {
    const frame = lanes.getBoundingClientRect();
    const edge = reference.getBoundingClientRect();
    const top = reference.querySelector("thead th").getBoundingClientRect().bottom - frame.top;
    const bottom = lanes.clientHeight;
    for (const match of result.matches) {
      const lane = document.getElementById(`sibling-${match.rollout}`);
      const active = match.rollout === cursor.sibling;
      match.claimed.forEach((claimed, step) => {
        if (!claimed) return;
        const from = rowOf(lane, step).getBoundingClientRect();
        const to = rowOf(reference, match.position[step]).getBoundingClientRect();
        const x1 = edge.right - frame.left;
        const x2 = from.left - frame.left;
        const place = to.top - frame.top + Math.min(to.height / 2, 20);
        const y1 = Math.max(top + 2, Math.min(bottom - 2, place)); // out of sight: the line points to where it is
        const y2 = from.top - frame.top + Math.min(from.height / 2, 20);
        if (x2 < x1 - 1 || x2 > lanes.clientWidth || y2 < top || y2 > bottom) return;
        const bend = Math.max(18, Math.min(90, (x2 - x1) / 2));
        const now = active && step === cursor.step;
        const line = svg("path", {
          d: `M${x1},${y1}C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`,
          class: `line${active ? " is-active" : ""}${now ? " is-now" : ""}`,
          "stroke-width": (1 + 2 * match.shown[step]).toFixed(2),
          "data-from": `${match.rollout}.${step}`,
          "data-to": match.position[step],
        });
        drawn.append(line);
        if (!active) return;
        drawn.append(svg("circle", { cx: x2, cy: y2, r: 3.5, class: "end" }));
        if (y1 === place) drawn.append(svg("circle", { cx: x1, cy: y1, r: 3.5, class: "end" }));
      });
    }
    overlay.style.setProperty("--top", `${top}px`);
  }
  overlay.replaceChildren(drawn);
}

function rowOf(lane, step) {
  return lane.querySelector("tbody").rows[step];
}
