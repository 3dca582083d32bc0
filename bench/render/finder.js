/* The site's finder: which servers hold what the reader picks. The address keeps the pick. */

const FINDER = JSON.parse(document.getElementById("finder-data").textContent);
const CONTROLS = [...document.querySelectorAll("#finder [name]")];

/** What events show of a row's server. */
const traitOf = (row, name) => FINDER.servers[row.server][name] ?? { holds: null, words: "" };
const TRAITS = { keeps: "whether it keeps connections", reload: "what a reload loses" };

/** Whether a row holds what a control asks for; null if that was never measured. */
const HOLDS = {
  cpu_us: (row) => (row.cpu_us ? true : null),
  memory: ({ memory_bytes: bytes }, most) => (bytes === null ? null : bytes <= most * 1e6),
  keeps: (row) => traitOf(row, "keeps").holds,
  reload: (row) => traitOf(row, "reload").holds,
  // An upper bound above the limit leaves it open.
  p99: ({ p99 }, most) => (p99 && p99.seconds <= most / 1e3) || (!p99 || p99.at_most ? null : false),
};

const nameOf = ({ server, framework, more }) =>
  `${server} with ${FINDER.frameworks[framework].words}${inBrackets(more)}`;
const inBrackets = (text) => (text ? ` (${text})` : "");

const serviceOf = (row) => `${nameOf(row)} ${row.load}`;
const tableKey = ({ run, load }) => `${run} ${load}`;
const isHeld = (row) => !row.fails && !row.lacks.length;

/** All rows of the framework that is picked, the newest first, with what each fails or lacks. */
function judgedRows(picked) {
  const asked = Object.keys(HOLDS).filter((name) => name === "cpu_us" || picked[name]);
  const rows = FINDER.rows.filter(({ framework }) => !picked.framework || framework === picked.framework);
  return rows.map((row) => {
    const checks = asked.map((name) => HOLDS[name](row, Number(picked[name])));
    const fails = checks.includes(false);
    return { ...row, fails, lacks: fails ? [] : asked.filter((_, place) => checks[place] === null) };
  });
}

/** A row for each server, framework and load: the newest one that fails something or lacks nothing, else the newest. */
function decidedRows(rows) {
  const decided = new Map();
  for (const row of rows) {
    const key = serviceOf(row);
    if (decided.get(key)?.lacks.length === 0) continue;
    if (!decided.has(key) || !row.lacks.length) decided.set(key, row);
  }
  return [...decided.values()];
}

/** The tables in which any service was decided to hold, each with all that hold, so that none is missing from a comparison. */
function wholeTables(rows, held) {
  const services = new Set(held.map(serviceOf));
  const tables = new Set(held.map(tableKey));
  const shown = rows.filter((row) => isHeld(row) && services.has(serviceOf(row)) && tables.has(tableKey(row)));
  return [...Map.groupBy(shown, tableKey).values()].sort((a, b) => b.length - a.length);
}

const source = (run, place) =>
  make("p", { class: "source" }, make("a", { href: `${run}/index.html${place}` }, run), `: ${FINDER.runs[run]}`);

/** The rows of one table of one run, the cheapest first, with where they are from. */
function foundTable(rows, picked) {
  const [{ run, load, table }] = rows;
  const names = ["server", "framework", "CPU per request", "memory", "p99", "idle connections", "at a reload"];
  const columns = names.map((name, place) => [name, place > 1 && place < 5]);
  const lines = rows
    .sort((a, b) => a.cpu_us.mean - b.cpu_us.mean)
    .map((row) => {
      const { mean, low, high } = row.cpu_us;
      const notes = [row.more, FINDER.servers[row.server].aside].filter(Boolean).join(", ");
      return [
        make("span", {}, make("a", { href: `servers/${row.server}.html` }, row.server), inBrackets(notes)),
        FINDER.frameworks[row.framework].words,
        `${number(mean)} (${number(low)} to ${number(high)}) µs`,
        megabytes(row.memory_bytes),
        known(row.p99, (p99) => `${p99.at_most ? "≤ " : ""}${milliseconds(p99.seconds)} at ${rate(p99.rate)}`),
        ...Object.keys(TRAITS).map((name) => (picked[name] ? traitOf(row, name).words : NOTHING)),
      ];
    });
  const only = picked.framework ? `framework=${picked.framework}&` : "";
  return [make("h3", {}, load), source(run, `#${only}${table}`), tableOf(`${load}: ${run}`, columns, lines)];
}

/** What was never measured of services that may hold what is picked, each with their names by load. */
function neverMeasured(rows, picked) {
  const open = rows.flatMap((row) =>
    row.lacks.map((name) => {
      if (name in TRAITS) return [TRAITS[name], "", row.server + inBrackets(traitOf(row, name).words)];
      return [name.replace("cpu_us", "CPU per request"), `Under ${row.load}: `, nameOf(row)];
    }),
  );
  const measured = new Set(FINDER.rows.map(({ server, framework }) => nameOf({ server, framework })));
  for (const [framework, { servers }] of Object.entries(FINDER.frameworks)) {
    if (picked.framework && framework !== picked.framework) continue;
    const never = servers.map((server) => nameOf({ server, framework })).filter((name) => !measured.has(name));
    open.push(...never.map((name) => ["any figure, in the locked version with default settings", "", name]));
  }
  const namesOf = (entries) => [...new Set(entries.map(([, , name]) => name))];
  const items = [...Map.groupBy(open, ([what]) => what)].map(([what, entries]) => {
    const loads = [...Map.groupBy(entries, ([, load]) => load)].map(
      ([load, found]) => load + namesOf(found).join(", "),
    );
    const summary = make("summary", {}, `${what} (${namesOf(entries).length})`);
    return make("li", {}, make("details", {}, summary, ...loads.map((text) => make("p", { class: "source" }, text))));
  });
  return items.length ? [make("h3", {}, "Never measured, so neither held nor failed"), make("ul", {}, ...items)] : [];
}

function showFound() {
  const picked = Object.fromEntries(CONTROLS.map(({ name, value }) => [name, value]).filter(([, value]) => value));
  const status = document.getElementById("finder-status");
  const results = document.getElementById("finder-results");
  status.textContent = "Pick a framework or a limit.";
  results.replaceChildren();
  if (!Object.keys(picked).length) return "";
  const judged = judgedRows(picked);
  const rows = decidedRows(judged);
  const held = rows.filter(isHeld);
  const groups = wholeTables(judged, held);
  const where = `in ${plural(groups.length, "table")}, the cheapest first`;
  status.textContent = `Held: ${held.length}, ${where}. Not held: ${rows.filter((row) => row.fails).length}.`;
  const events = held.flatMap((row) => Object.keys(TRAITS).map((name) => picked[name] && traitOf(row, name).run));
  results.append(
    ...groups.flatMap((found) => foundTable(found, picked)),
    ...[...new Set(events.filter(Boolean))].map((run) => source(run, "#events")),
    ...neverMeasured(rows, picked),
  );
  return `#${new URLSearchParams(picked)}`;
}

function readPick() {
  // A link to a section of the page is no pick.
  if (location.hash && !location.hash.includes("=")) return;
  const given = new URLSearchParams(location.hash.slice(1));
  for (const control of CONTROLS) control.value = given.get(control.name) ?? "";
  showFound();
}

for (const control of CONTROLS)
  control.addEventListener("input", () => history.replaceState(null, "", showFound() || location.pathname));
addEventListener("hashchange", readPick);
document.querySelector("#finder .fields").hidden = false;
showFound();
readPick();
