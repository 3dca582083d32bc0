/* The frame of a picture: a title, how to read it, the drawing with its alternative in words, its figures as a table. */

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
/** Plot has one, and D3 none. */
const HEXAGON = {
  draw(context, size) {
    const radius = Math.sqrt(size / Math.PI) * 1.05;
    for (let corner = 0; corner < 6; corner++) {
      const place = [radius * Math.sin((corner * Math.PI) / 3), radius * Math.cos((corner * Math.PI) / 3)];
      if (corner) context.lineTo(...place);
      else context.moveTo(...place);
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

const pictures = [];

/**
 * Declares a picture: drawOn(width) gives {missing: why} where the run lacks the data, or
 * {drawing: a node, alt: words, columns, rows: the figures, notes: [words]}.
 */
function picture(id, title, reading, drawOn, { filtered = true } = {}) {
  pictures.push({ id, title, reading, drawOn, filtered });
}

function frame({ id, title, reading, drawOn, filtered }) {
  const chart = make("div", { class: "chart" });
  const notes = make("div");
  const body = make("div");
  const details = make("details", {}, make("summary", {}, "The figures of this picture as a table"), body);
  const why = make("p", { class: "left-out" });
  const how = make("p", { class: "note" }, reading);
  const figure = make(
    "figure",
    { class: "picture", id: `picture-${id}` },
    make("figcaption", {}, make("h3", {}, title), how),
    why,
    chart,
    notes,
    details,
  );
  let stale = true;
  let inSight = false;
  let made = null;
  const showTable = () => made && details.open && body.replaceChildren(tableOf(title, made.columns, made.rows));
  const render = () => {
    stale = false;
    made = drawOn(Math.max(280, chart.clientWidth || figure.clientWidth));
    const missing = made.missing;
    figure.classList.toggle("missing", Boolean(missing));
    for (const part of [chart, details, how]) part.hidden = Boolean(missing);
    why.hidden = !missing;
    why.textContent = missing ? `Not drawn: ${missing}` : "";
    notes.replaceChildren();
    if (missing) return chart.replaceChildren();
    chart.replaceChildren(made.drawing);
    const root = made.drawing;
    root.setAttribute("role", "img");
    root.setAttribute("aria-label", `${title}. ${made.alt}`);
    // The whole is one image with words of its own; names of marks inside it are not for anyone.
    for (const mark of root.querySelectorAll("[aria-label], [aria-description]")) {
      mark.removeAttribute("aria-label");
      mark.removeAttribute("aria-description");
    }
    notes.replaceChildren(...(made.notes ?? []).map((words) => make("p", { class: "note" }, words)));
    showTable();
  };
  details.addEventListener("toggle", showTable);
  const refresh = () => {
    stale = true;
    if (inSight) render();
  };
  new IntersectionObserver(
    (entries) => {
      inSight = entries[entries.length - 1].isIntersecting;
      if (inSight && stale) render();
    },
    { rootMargin: "300px" },
  ).observe(figure);
  // Height is kept while it is out of sight, so that the page does not jump.
  chart.style.minHeight = "6rem";
  if (filtered) onChange((keys) => keys.some((key) => FILTERS.includes(key) || key === "load") && refresh());
  return { figure, refresh, render: () => stale && render() };
}

/** Places that are at least `gap` apart and as near as may be to what was asked; in the order that was given. */
function spread(places, gap) {
  const order = places.map((place, index) => ({ place, index })).sort((a, b) => a.place - b.place);
  for (let round = 0; round < 60; round++) {
    let moved = false;
    for (let i = 1; i < order.length; i++) {
      const short = gap - (order[i].place - order[i - 1].place);
      if (short > 0.01) {
        order[i - 1].place -= short / 2;
        order[i].place += short / 2;
        moved = true;
      }
    }
    if (!moved) break;
  }
  const placed = [];
  for (const { place, index } of order) placed[index] = place;
  return placed;
}

/** A mark of text at places of the drawing itself: [x, y, words, colour, symbol] in pixels. */
function labels(entries, { size = 12 } = {}) {
  return () => {
    const group = svg("g", { "font-size": size, "text-anchor": "start" });
    for (const [x, y, words, fill, symbol] of entries) {
      if (symbol)
        group.append(
          svg("path", { d: d3.symbol(SYMBOL_SHAPES[symbol], 44)(), transform: `translate(${x + 5},${y})`, fill }),
        );
      group.append(svg("text", { x: x + (symbol ? 15 : 0), y, dy: "0.32em", fill: fill ?? INK }, words));
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

/** Lines from lower left to upper right: what is not valid, whatever the colour. */
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
  return (words, size = 12) => {
    context.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
    return context.measureText(words).width;
  };
})();

const widest = (words, size) => Math.ceil(Math.max(0, ...words.map((one) => textWidth(one, size))));
const clip = (words, most) => {
  let text = words;
  while (text.length > 4 && textWidth(text) > most) text = `${text.slice(0, -2).trimEnd()}…`.replace(/……$/, "…");
  return text;
};

/** Ticks of a logarithmic scale at 1, 2 and 5, few enough for the room. */
function logTicks([low, high], room) {
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const step of [1, 2, 5]) {
      const place = step * 10 ** power;
      if (place >= low * 0.999 && place <= high * 1.001) ticks.push(place);
    }
  const tens = ticks.filter((place) => Number.isInteger(Math.round(Math.log10(place) * 1e6) / 1e6));
  return ticks.length * 26 > room && tens.length > 1 ? tens : ticks;
}

/** A scale for latencies: logarithmic, unless they are so near each other that there would be no ticks on it. */
function latencyScale(domain, room, label) {
  const common = { domain, label, labelArrow: "none", tickFormat: tick, tickSize: 0, grid: true };
  const ticks = logTicks(domain, room);
  return ticks.length < 3 ? { ...common, type: "linear", ticks: 5 } : { ...common, type: "log", ticks };
}

/** Below a narrow drawing, what else stands at the ends of its lines. */
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

/** Those of the labels that overlap none before them: [x, y, words] in pixels. */
function apart(entries, size = 11) {
  const kept = [];
  for (const entry of entries) {
    const width = textWidth(entry[2], size) + 4;
    if (
      kept.every(([x, y, , other]) => Math.abs(x - entry[0]) > (width + other) / 2 || Math.abs(y - entry[1]) > size + 4)
    )
      kept.push([...entry.slice(0, 3), width]);
  }
  return kept;
}

/** The cells of the drawn load, best first; those without a figure last. */
function drawn() {
  const groups = loads();
  const load = drawnLoad(groups);
  const cells = (groups.get(load) ?? []).slice();
  cells.sort((a, b) => (b.goodput ?? -1) - (a.goodput ?? -1) || natural(a.service, b.service));
  return { load, cells, first: cells[0] };
}

const NO_SOLO = "no service was measured alone in this run, or the filters leave none.";
const OPEN_LOOP =
  "the goodput of an open loop is what was asked of it, and ranks nobody; a closed loop, among the loads above, does.";
const loadWords = (cell) => `${cell.scenario}, ${cell.tool}, ${levelWords(cell.level)}`;
const roundsWords = (cell) =>
  cell.valid < cell.rounds ? `${cell.valid} of ${cell.rounds} rounds valid` : plural(cell.rounds, "round");
