/* Turns the page's embedded JSON into cells and measurements; decompresses a measurement's details on demand. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const COORDINATES = ["server", "framework", "python", "base", "settings", "scenario", "tool", "level"];

function rowsOf(columns) {
  const names = Object.keys(columns);
  const count = names.length ? columns[names[0]].length : 0;
  return Array.from({ length: count }, (_, index) => {
    const row = { index };
    for (const name of names) row[name] = columns[name][index];
    return row;
  });
}

/** A level in words: "64 connections", "knee (p99 ≤ 50 ms)". */
const levelText = (level) => DATA.levels[level] ?? level;

const word = (index) => (index === null ? null : DATA.words[index]);

/** A suffix in brackets; empty without text. */
const inBrackets = (text) => (text ? ` (${text})` : "");

const CELLS = rowsOf(DATA.cells);
CELLS.forEach(nameCell);

/** Replaces a cell's indexes by words, and gives it its load, id and names. */
function nameCell(cell) {
  for (const name of [...COORDINATES, "service", "mode", "state"]) cell[name] = word(cell[name]);
  cell.load = [cell.scenario, cell.tool, cell.level, ...(cell.mode === "turns" ? ["turns"] : [])].join(" ");
  cell.id = `${cell.service} ${cell.load}`;
  const [first, ...others] = (DATA.services[cell.service]?.package ?? "").split(" ");
  const [package_, version = ""] = first.split("==");
  const together = others.length ? ` with ${others.join(", ").replaceAll("==", " ")}` : "";
  cell.stack = cell.server === cell.framework ? cell.server : `${cell.server} · ${cell.framework}`;
  cell.package = package_ ? `${package_} ${version}`.trim() + together : "";
  cell.stack += inBrackets(cell.settings);
  cell.words = `${cell.id} ${cell.stack} ${cell.package}`.toLowerCase();
  if (package_) cell.stack += (package_ === cell.stack ? ` ${version}` : ` ${package_} ${version}`) + together;
}

const MEASUREMENTS = rowsOf(DATA.measurements);
for (const one of MEASUREMENTS) one.causes = one.causes.map(word);

/** Whether a cell has figures of a single service: measured solo, in its turns, or at a common rate. */
const isAlone = (cell) => ["solo", "turns", "rate"].includes(cell.mode);
const ALONE = CELLS.filter(isAlone);
/** Whether services were measured both solo and in turns, so that the name of a load has to say which. */
const BOTH_WAYS = ["solo", "turns"].every((mode) => ALONE.some((cell) => cell.mode === mode));

/** The first value if the page begins with rankings, else the second. */
const answered = (first, second) => (DATA.rankings.length ? first : second);

const PART_SIZE = 100; // IN_A_PART of windows.py
const parts = new Map();

/** The details of the measurement with this index in the records. */
async function detailsOf(index) {
  const part = Math.floor(index / PART_SIZE);
  if (!parts.has(part)) parts.set(part, inflate(document.getElementsByClassName("part")[part].textContent));
  return visible((await parts.get(part))[index % PART_SIZE]);
}

async function inflate(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  // A loop, because Uint8Array.from calls a function for each letter, and there may be half a million.
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** The rankings, then percentiles of latency at a common rate: the order of `pairs`. */
const JUDGED = [...DATA.rankings, ...DATA.latencies];
const PERCENTILES = ["p50", "p99", "p99.9"];

/** The load of a ranking, as its cells name it. */
const rankedLoad = ({ scenario, tool, level, metric }) =>
  [scenario, tool, level, ...(PERCENTILES.includes(metric) ? [] : ["turns"])].join(" ");

let pairs = null;

/** The sentences on every pair of services of each ranking; null if this browser cannot decompress them. */
async function loadPairs() {
  const text = document.getElementById("pairs")?.textContent;
  if (text) pairs ??= await inflate(text).catch(() => null);
  return pairs;
}

/** Start scripts and apps by path; null if the run did not save them or this browser cannot decompress them. */
async function loadSources() {
  const text = document.getElementById("sources")?.textContent;
  return text ? inflate(text).catch(() => null) : null;
}

/** The sentence on two services, given by their places in a ranking, and whether neither is the winner; null without one. */
function pairOf(ranking, one, other) {
  const found = pairs?.[JUDGED.indexOf(ranking)];
  if (!found || one === other) return null;
  const [i, j] = one < other ? [one, other] : [other, one];
  const words = j < found.count ? found.words[i].split("\n")[j - i - 1] : "";
  if (!words) return null;
  const at = i * found.count - (i * (i + 1)) / 2 + j - i - 1;
  return { open: found.open[at] === "o", words: filled(words, [ranking.labels[i], ranking.labels[j]]) };
}

/** A text of the report with its placeholders filled in. */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const said = (name, values = {}) => filled(DATA.said[name], values);

/** Gives a function that labels these cells: the Python version and base only where they differ. */
function labelsOf(cells) {
  const differs = (name) => new Set(cells.map((cell) => cell[name])).size > 1;
  const python = differs("python");
  const base = differs("base");
  return (cell) => [cell.stack, ...(python ? [cell.python] : []), ...(base ? [cell.base] : [])].join(" · ");
}
