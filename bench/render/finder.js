/* The site's finder: which servers hold what the reader picks. The address keeps the pick. */

const FINDER = JSON.parse(document.getElementById("finder-data").textContent);
const CONTROLS = [...document.querySelectorAll("#finder [name]")];
const SHOWN_ROWS = 12;

/** What events show of a row's server. */
const traitOf = (row, name) => FINDER.servers[row.server][name] ?? { holds: null, words: "" };
const TRAITS = { keeps: "whether it keeps connections", reload: "what a reload loses" };

/** Whether a row holds what a control asks for; null if that was never measured. */
const HOLDS = {
  cpu_us: (row) => (row.cpu_us ? true : null),
  memory: (row, most) => (row.memory === null ? null : row.memory <= most * 1e6),
  keeps: (row) => traitOf(row, "keeps").holds,
  reload: (row) => traitOf(row, "reload").holds,
  p99: ({ p99 }, most) => {
    if (!p99) return null;
    // An upper bound above the limit leaves it open.
    return p99.seconds <= most / 1e3 || (p99.at_most ? null : false);
  },
};

const nameOf = ({ server, framework, more }) =>
  `${server} with ${FINDER.frameworks[framework].words}${more ? ` (${more})` : ""}`;

/** The values by key, in the order in which keys first appear. */
function groupsOf(values, key) {
  const groups = new Map();
  for (const value of values) groups.set(key(value), [...(groups.get(key(value)) ?? []), value]);
  return [...groups];
}

/**
 * A row for each server, framework and load, with what it lacks: the newest one that fails something or lacks nothing,
 * else the newest.
 */
function decidedRows(picked) {
  const asked = Object.keys(HOLDS).filter((name) => name === "cpu_us" || picked[name]);
  const decided = new Map();
  for (const row of FINDER.rows.filter((one) => !picked.framework || one.framework === picked.framework)) {
    const key = `${nameOf(row)} ${row.load}`;
    if (decided.get(key)?.lacks.length === 0) continue;
    const checks = asked.map((name) => HOLDS[name](row, Number(picked[name])));
    const fails = checks.includes(false);
    const lacks = fails ? [] : asked.filter((_, place) => checks[place] === null);
    if (!decided.has(key) || !lacks.length) decided.set(key, { ...row, fails, lacks });
  }
  return [...decided.values()];
}

/** The cells of a row that holds all that is picked. */
function cellsOf(row, picked) {
  const { cpu_us: cpu, p99, memory } = row;
  const { aside } = FINDER.servers[row.server];
  const shown = (name) => {
    const { run, words } = traitOf(row, name);
    return picked[name] ? make("a", { href: `${run}/index.html` }, words) : NOTHING;
  };
  const notes = [row.more, aside].filter(Boolean).join(", ");
  return [
    make("span", {}, make("a", { href: `servers/${row.server}.html` }, row.server), notes ? ` (${notes})` : null),
    FINDER.frameworks[row.framework].words,
    `${number(cpu.mean)} (${number(cpu.low)} to ${number(cpu.high)}) µs`,
    megabytes(memory),
    p99 ? `${p99.at_most ? "≤ " : ""}${milliseconds(p99.seconds)} at ${rate(p99.rate)}` : NOTHING,
    shown("keeps"),
    shown("reload"),
  ];
}

const source = (run, place) =>
  make("p", { class: "source" }, make("a", { href: `${run}/index.html${place}` }, run), `: ${FINDER.runs[run]}`);

/** The rows of one table of one run, the cheapest first, with where they are from. */
function foundTable(rows, picked) {
  const [{ run, load, table }] = rows;
  const names = ["server", "framework", "CPU per request", "memory", "p99", "idle connections", "at a reload"];
  const columns = names.map((name, place) => [name, place > 1 && place < 5]);
  const lines = rows.sort((a, b) => a.cpu_us.mean - b.cpu_us.mean).map((row) => cellsOf(row, picked));
  const more = lines.splice(SHOWN_ROWS);
  const only = picked.framework ? `framework=${picked.framework}&` : "";
  return make(
    "section",
    {},
    make("h3", {}, load),
    source(run, `#${only}${table}`),
    tableOf(`${load}: ${run}`, columns, lines),
    more.length
      ? make("details", {}, make("summary", {}, `${more.length} more`), tableOf(`${load}: more`, columns, more))
      : null,
  );
}

/** What was never measured of services that may hold what is picked, each with their names. */
function neverMeasured(rows, picked) {
  const open = rows.flatMap((row) =>
    row.lacks.map((name) => {
      if (!(name in TRAITS)) return [`${name.replace("cpu_us", "CPU per request")}, under ${row.load}`, nameOf(row)];
      const { words } = traitOf(row, name);
      return [TRAITS[name], row.server + (words ? ` (${words})` : "")];
    }),
  );
  const measured = new Set(FINDER.rows.map(({ server, framework }) => nameOf({ server, framework })));
  for (const [framework, { servers }] of Object.entries(FINDER.frameworks)) {
    if (picked.framework && framework !== picked.framework) continue;
    const never = servers.map((server) => nameOf({ server, framework })).filter((name) => !measured.has(name));
    open.push(...never.map((name) => ["any figure, in the locked version with default settings", name]));
  }
  const items = groupsOf(open, ([what]) => what).map(([what, entries]) => {
    const names = [...new Set(entries.map(([, name]) => name))];
    return make("li", {}, make("details", {}, make("summary", {}, `${what} (${names.length})`), names.join(", ")));
  });
  return items.length ? [make("h3", {}, "Never measured, so neither held nor failed"), make("ul", {}, ...items)] : [];
}

function showFound() {
  const picked = Object.fromEntries(CONTROLS.map(({ name, value }) => [name, value]).filter(([, value]) => value));
  const results = document.getElementById("finder-results");
  const status = document.getElementById("finder-status");
  results.replaceChildren();
  status.textContent = "Pick a framework or a limit.";
  if (!Object.keys(picked).length) return;
  const rows = decidedRows(picked);
  const held = rows.filter((row) => !row.fails && !row.lacks.length);
  const tables = groupsOf(held, ({ run, load }) => `${run} ${load}`).sort(([, a], [, b]) => b.length - a.length);
  const where = `in ${plural(tables.length, "table")}, the cheapest first`;
  status.textContent = `Held: ${held.length}, ${where}. Not held: ${rows.filter((row) => row.fails).length}.`;
  const runs = held.flatMap((row) => Object.keys(TRAITS).map((name) => picked[name] && traitOf(row, name).run));
  results.append(
    ...tables.map(([, found]) => foundTable(found, picked)),
    ...[...new Set(runs.filter(Boolean))].map((run) => source(run, "#events")),
    ...neverMeasured(rows, picked),
  );
}

function readPick() {
  // A link to a section of the page is no pick.
  if (location.hash && !location.hash.includes("=")) return;
  const given = new URLSearchParams(location.hash.slice(1));
  for (const control of CONTROLS) {
    control.value = given.get(control.name) ?? "";
    if (!control.value) control.value = "";
  }
}

function keepPick() {
  const given = CONTROLS.filter(({ value }) => value).map(({ name, value }) => [name, value]);
  const text = new URLSearchParams(given).toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  showFound();
}

for (const control of CONTROLS) control.addEventListener("input", keepPick);
addEventListener("hashchange", () => {
  readPick();
  showFound();
});
document.querySelector("#finder .fields").hidden = false;
readPick();
showFound();
