/* The page's data blocks as objects: cells, measurements, pairs; and the details of a measurement, inflated when asked. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const COORDINATES = ["server", "framework", "python", "base", "scenario", "tool", "level"];

function rowsOf(columns) {
  const names = Object.keys(columns);
  const count = names.length ? columns[names[0]].length : 0;
  return Array.from({ length: count }, (_, place) => {
    const row = { place };
    for (const name of names) row[name] = columns[name][place];
    return row;
  });
}

const word = (place) => (place === null ? null : DATA.words[place]);

const CELLS = rowsOf(DATA.cells);
for (const cell of CELLS) {
  for (const name of [...COORDINATES, "service", "mode", "pair", "state"]) cell[name] = word(cell[name]);
  cell.load = [cell.scenario, cell.tool, cell.level].join(" ");
  cell.id = [cell.service, cell.load, ...(cell.pair ? [cell.pair] : [])].join(" ");
  const [package_, version] = (DATA.services[cell.service]?.package ?? "").split("==");
  cell.stack = cell.server === cell.framework ? cell.server : `${cell.server} · ${cell.framework}`;
  cell.package = package_ ? `${package_} ${version ?? ""}`.trim() : "";
  if (package_) cell.stack += package_ === cell.stack ? ` ${version ?? ""}` : ` ${package_} ${version ?? ""}`;
}

const MEASUREMENTS = rowsOf(DATA.measurements);
for (const one of MEASUREMENTS) one.causes = one.causes.map(word);

const SOLO = CELLS.filter((cell) => cell.mode === "solo");

const parts = new Map();
const PART = 100;

/** The details of the measurement at this place in the records. */
async function detailsOf(place) {
  const number_ = Math.floor(place / PART);
  if (!parts.has(number_)) parts.set(number_, inflate(document.getElementsByClassName("part")[number_].textContent));
  return visible((await parts.get(number_))[place % PART]);
}

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

/** Names that tell these cells apart in as few words as it takes. */
function labelsOf(cells) {
  const differs = (name) => new Set(cells.map((cell) => cell[name])).size > 1;
  const python = differs("python");
  const base = differs("base");
  return (cell) => [cell.stack, ...(python ? [cell.python] : []), ...(base ? [cell.base] : [])].join(" · ");
}
