/* Draws the frame of each chart (title, explanation, plot, text alternative, data table) and what the charts share. */

const COLOURS = [
  "var(--s1)",
  "var(--s2)",
  "var(--s3)",
  "var(--s4)",
  "var(--s5)",
  "var(--s6)",
  "var(--s7)",
  "var(--s8)",
];
const DASHES = ["", "7 3", "2 3", "9 3 2 3", "12 4", "4 2", "1 4", "6 2 1 2 1 2"];
const SYMBOLS = ["circle", "square", "triangle", "diamond", "cross", "star", "wye", "hexagon"];
const MOST_LINES = COLOURS.length;
/** Plot has a hexagon symbol, D3 does not. */
const HEXAGON = {
  draw(context, size) {
    const radius = Math.sqrt(size / Math.PI) * 1.05;
    for (let corner = 0; corner < 6; corner++) {
      const point = [radius * Math.sin((corner * Math.PI) / 3), radius * Math.cos((corner * Math.PI) / 3)];
      if (corner) context.lineTo(...point);
      else context.moveTo(...point);
    }
    context.closePath();
  },
};
const SYMBOL_SHAPES = {
  circle: d3.symbolCircle,
  square: d3.symbolSquare,
  triangle: d3.symbolTriangle,
  diamond: d3.symbolDiamond,
  cross: d3.symbolCross,
  star: d3.symbolStar,
  wye: d3.symbolWye,
  hexagon: HEXAGON,
};
const INK = "var(--ink)";
const SOFT = "var(--soft)";
const STYLE = { background: "none", color: INK, fontSize: "12px", fontFamily: "inherit" };

const charts = [];

/**
 * Declares a chart: draw(width) gives {missing: reason} if the run lacks the data, or
 * {drawing: a node, alt: text, columns and rows: the data as a table, notes: [text]}. With `modes`, it is left out of a
 * page that begins with rankings and has no cell of these modes: they have the same figures.
 */
function chart(id, title, explanation, draw, { filtered = true, modes = [] } = {}) {
  charts.push({ id, title, explanation, draw, filtered, modes });
}

function frame({ id, title, explanation, draw, filtered }) {
  const plot = make("div", { class: "plot" });
  const notes = make("div");
  const body = make("div");
  const details = make("details", {}, make("summary", {}, "Show this chart's data as a table"), body);
  const why = make("p", { class: "left-out" });
  const how = make("p", { class: "note" }, explanation);
  const figure = make(
    "figure",
    { class: "chart", id: `chart-${id}` },
    make("figcaption", {}, make("h3", {}, title), how),
    why,
    plot,
    notes,
    details,
  );
  let stale = true;
  let inView = false;
  let made = null;
  const showTable = () => made && details.open && body.replaceChildren(tableOf(title, made.columns, made.rows));
  const render = () => {
    stale = false;
    made = draw(Math.max(280, plot.clientWidth || figure.clientWidth));
    const missing = made.missing;
    figure.classList.toggle("missing", Boolean(missing));
    for (const part of [plot, details, how]) part.hidden = Boolean(missing);
    why.hidden = !missing;
    why.textContent = missing ? `Not shown: ${missing}` : "";
    notes.replaceChildren();
    if (missing) return plot.replaceChildren();
    plot.replaceChildren(made.drawing);
    const root = made.drawing;
    root.setAttribute("role", "img");
    root.setAttribute("aria-label", `${title}. ${made.alt}`);
    removeMarkLabels(root);
    notes.replaceChildren(...(made.notes ?? []).map((text) => make("p", { class: "note" }, text)));
    showTable();
  };
  details.addEventListener("toggle", showTable);
  const refresh = () => {
    stale = true;
    if (inView) render();
  };
  new IntersectionObserver(
    (entries) => {
      inView = entries[entries.length - 1].isIntersecting;
      if (inView && stale) render();
    },
    { rootMargin: "300px" },
  ).observe(figure);
  // Reserves some height for charts that are not drawn yet, so that the page does not jump.
  plot.style.minHeight = "6rem";
  if (filtered) onChange((keys) => (isSelection(keys) || keys.includes("load")) && refresh());
  return { figure, refresh, render: () => stale && render() };
}

/** A chart is one image with one description: labels of single marks would only repeat it. */
function removeMarkLabels(drawing) {
  for (const mark of drawing.querySelectorAll("[aria-label], [aria-description]")) {
    mark.removeAttribute("aria-label");
    mark.removeAttribute("aria-description");
  }
}

/** Moves positions apart until neighbours are at least `gap` apart, keeping them close to where they were. */
function spread(positions, gap) {
  const order = positions.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at);
  for (let round = 0; round < 60; round++) {
    let moved = false;
    for (let i = 1; i < order.length; i++) {
      const short = gap - (order[i].at - order[i - 1].at);
      if (short > 0.01) {
        order[i - 1].at -= short / 2;
        order[i].at += short / 2;
        moved = true;
      }
    }
    if (!moved) break;
  }
  const placed = [];
  for (const { at, index } of order) placed[index] = at;
  return placed;
}

/** A mark that puts text at pixel positions: [x, y, text, colour, symbol]. */
function labels(entries, { size = 12 } = {}) {
  return () => {
    const group = svg("g", { "font-size": size, "text-anchor": "start" });
    for (const [x, y, text, fill, symbol] of entries) {
      if (symbol)
        group.append(
          svg("path", { d: d3.symbol(SYMBOL_SHAPES[symbol], 44)(), transform: `translate(${x + 5},${y})`, fill }),
        );
      group.append(svg("text", { x: x + (symbol ? 15 : 0), y, dy: "0.32em", fill: fill ?? INK }, text));
    }
    return group;
  };
}

function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** A hatched fill pattern, which marks invalid results. */
function hatch(id) {
  return () =>
    svg(
      "defs",
      {},
      svg(
        "pattern",
        { id, width: 7, height: 7, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        svg("line", { x1: 0, y1: 0, x2: 0, y2: 7, stroke: "var(--soft)", "stroke-width": 2, "stroke-opacity": 0.55 }),
      ),
    );
}

const textWidth = (() => {
  const context = document.createElement("canvas").getContext("2d");
  return (text, size = 12) => {
    context.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    return context.measureText(text).width;
  };
})();

const widest = (texts, size) => Math.ceil(Math.max(0, ...texts.map((one) => textWidth(one, size))));
const clip = (full, most) => {
  let text = full;
  while (text.length > 4 && textWidth(text) > most) text = `${text.slice(0, -2).trimEnd()}…`.replace(/……$/, "…");
  return text;
};

/** Ticks of a logarithmic scale at 1, 2 and 5, or only at powers of ten if there is little room. */
function logTicks([low, high], room) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const step of [1, 2, 5]) {
      const value = step * 10 ** power;
      if (value >= low * 0.999 && value <= high * 1.001) ticks.push(value);
    }
  const tens = ticks.filter((value) => Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6));
  return ticks.length * 26 > room && tens.length > 1 ? tens : ticks;
}

/** A scale for latencies: logarithmic, or linear if the range is too small for logarithmic ticks. */
function latencyScale(domain, room, label) {
  const common = { domain, label, labelArrow: "none", tickFormat: tick, tickSize: 0, grid: true };
  const ticks = logTicks(domain, room);
  return ticks.length < 3 ? { ...common, type: "linear", ticks: 5 } : { ...common, type: "log", ticks };
}

/** Puts a legend below a narrow chart, which has no room for labels at the ends of its lines. */
function legend(drawing, names) {
  const entry = (name, line) => {
    const mark = svg(
      "svg",
      { width: 14, height: 12, viewBox: "-7 -6 14 12" },
      svg("path", { d: d3.symbol(SYMBOL_SHAPES[SYMBOLS[line]], 44)(), fill: COLOURS[line] }),
    );
    return make("span", {}, mark, name);
  };
  return make("div", {}, drawing, make("div", { class: "legend" }, ...names.map(entry)));
}

const NARROW = 560;

/** The cells of the charted load, best first; those without a valid result last. */
function chartedCells() {
  const groups = loads();
  const load = chartedLoad(groups);
  const cells = (groups.get(load) ?? []).slice();
  cells.sort((a, b) => (b.goodput ?? -1) - (a.goodput ?? -1) || natural(a.service, b.service));
  return { load, cells, first: cells[0] };
}

const NO_SOLO = answered(
  "no measurement of a service alone matches the filters.",
  "this run has no solo measurement that matches the filters.",
);
const RANKED = "the ranking of this load is at the top of the page.";
const OPEN_LOOP = "in an open loop the rate is fixed, so goodput does not rank services; only a closed-loop load does.";
const loadText = (cell) =>
  `${cell.scenario}, ${cell.tool}, ${levelText(cell.level)}${BOTH_WAYS && cell.mode === "turns" ? ", in turns" : ""}`;
const roundsText = (cell) =>
  cell.valid < cell.rounds ? `${cell.valid} of ${cell.rounds} rounds valid` : plural(cell.rounds, "round");
const intervalText = (cell) => (cell.low === null ? NOTHING : `${number(cell.low)} to ${number(cell.high)}`);
