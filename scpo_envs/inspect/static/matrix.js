// The similarity matrix of one failed sibling and the reference, as a heat map.
"use strict";

const MARGIN = { left: 30, top: 20 };
const MOST_CELLS = 250000;
const matrix = { canvas: document.getElementById("matrix"), match: null, lam: 0, cell: 0, point: null };

/** Draws the matrix of a match: one colour above the threshold and one below, darker the more alike. */
function drawMatrix(match, lam, cursor) {
  const canvas = matrix.canvas;
  matrix.match = match;
  matrix.lam = lam;
  const box = document.getElementById("matrix-box");
  const usable = match && match.scores && match.scores.length * match.scores[0].length <= MOST_CELLS;
  box.hidden = !usable;
  if (!usable) return;
  const [rows, columns] = [match.scores.length, match.scores[0].length];
  const cell = Math.max(5, Math.min(columns > 20 ? 22 : 32, Math.floor((box.clientWidth - MARGIN.left - 20) / columns)));
  matrix.cell = cell;
  const [width, height] = [MARGIN.left + columns * cell + 2, MARGIN.top + rows * cell + 2];
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const colours = getComputedStyle(document.documentElement);
  const colour = (name) => colours.getPropertyValue(name).trim();
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const [above, below, ink, mark] = ["--similar", "--unlike", "--muted", "--claim"].map(colour);
  const gap = cell > 7 ? 1 : 0;
  match.scores.forEach((row, i) =>
    row.forEach((score, j) => {
      pen.globalAlpha = 0.06 + 0.94 * score ** 1.5;
      pen.fillStyle = score > lam ? above : below;
      pen.fillRect(MARGIN.left + j * cell, MARGIN.top + i * cell, cell - gap, cell - gap);
    }),
  );
  pen.globalAlpha = 1;
  pen.fillStyle = ink;
  pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  const every = cell >= 18 ? 1 : 5;
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (let i = 0; i < rows; i += every) pen.fillText(i, MARGIN.left - 5, MARGIN.top + (i + 0.5) * cell);
  pen.textAlign = "center";
  for (let j = 0; j < columns; j += every) pen.fillText(j, MARGIN.left + (j + 0.5) * cell, MARGIN.top - 9);
  match.position.forEach((position, step) => {
    const [x, y] = [MARGIN.left + (position + 0.5) * cell, MARGIN.top + (step + 0.5) * cell];
    const refused = ["behind_frontier", "position_taken"].includes(match.verdict[step]);
    if (!match.claimed[step] && !refused) return;
    pen.beginPath();
    pen.arc(x, y, Math.max(3.5, cell * 0.36), 0, 7);
    pen.lineWidth = match.claimed[step] ? 4 : 5;
    pen.strokeStyle = colour("--card");
    pen.stroke(); // a rim, so that the mark stands out from its cell
    pen.lineWidth = 2;
    pen.fillStyle = pen.strokeStyle = mark;
    if (match.claimed[step]) pen.fill();
    else pen.stroke();
  });
  if (cursor.sibling === match.rollout && cursor.step !== null) {
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 1.5;
    pen.strokeRect(MARGIN.left - 1, MARGIN.top + cursor.step * cell - 1, columns * cell + 1, cell + 1);
  }
}

/** The cell under a pointer; null beside the matrix. */
function cellAt(event) {
  const { match, cell, canvas } = matrix;
  if (!match || !match.scores) return null;
  const box = canvas.getBoundingClientRect();
  const [i, j] = [Math.floor((event.clientY - box.top - MARGIN.top) / cell), Math.floor((event.clientX - box.left - MARGIN.left) / cell)];
  return match.scores[i] && match.scores[i][j] !== undefined ? [i, j] : null;
}
