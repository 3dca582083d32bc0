/* Every cell as a row, filtered and sorted; a row opens to its rounds and to all that is known of each. */

const PAGE = 50;
const COLUMNS = [
  { key: "server", name: "Server" },
  { key: "framework", name: "Framework" },
  { key: "python", name: "Python" },
  { key: "base", name: "Base" },
  { key: "scenario", name: "Scenario" },
  { key: "tool", name: "Tool" },
  { key: "level", name: "Level" },
  { key: "goodput", name: "Requests/s", figure: true, write: (cell) => number(cell.goodput) },
  {
    key: "low",
    name: "95 % interval",
    figure: true,
    write: (cell) => (cell.low === null ? NOTHING : `${number(cell.low)} to ${number(cell.high)}`),
  },
  { key: "p99_s", name: "p99", figure: true, write: (cell) => milliseconds(cell.p99_s) },
  { key: "cpu_s", name: "CPU/request", figure: true, write: (cell) => milliseconds(cell.cpu_s) },
  { key: "memory_bytes", name: "Peak memory", figure: true, write: (cell) => megabytes(cell.memory_bytes) },
  { key: "valid", name: "Valid rounds", figure: true, write: (cell) => `${cell.valid} of ${cell.rounds}` },
];

// What is the same in every row needs no column.
const SHOWN = COLUMNS.filter(
  ({ key }) =>
    key === "server" ||
    !COORDINATES.includes(key) ||
    new Set(CELLS.filter((cell) => cell.mode !== "null").map((cell) => cell[key])).size > 1,
);

/** The cells that the filters leave, in the order that was asked; cells without the figure come last, whichever way. */
function filteredCells() {
  const cells = CELLS.filter(found);
  const [, down, key] = /^(-?)(\w+)$/.exec(state.sort ?? "") ?? [];
  const column = COLUMNS.find((one) => one.key === key);
  if (!column) return cells;
  const turn = down ? -1 : 1;
  const missing = (cell) =>
    cell[key] === null || (column.figure && cell.mode !== "solo") || (column.figure && key !== "valid" && !cell.valid);
  return cells.sort((a, b) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return turn * (column.figure ? a[key] - b[key] : natural(a[key], b[key]));
  });
}

function measurements() {
  const section = document.getElementById("measurements");
  const count = make("p", { class: "note", id: "count" });
  const body = make("tbody");
  const more = make("button", { type: "button", onclick: () => show(limit + PAGE) });
  const heads = SHOWN.map((column) => {
    // Figures from the most, words from a; then the other way; then as they were.
    const turns = column.figure ? [`-${column.key}`, column.key, ""] : [column.key, `-${column.key}`, ""];
    const turn = () => change({ sort: turns[(turns.indexOf(state.sort) + 1) % 3] });
    return make(
      "th",
      { scope: "col", class: column.figure ? "figure" : null },
      make("button", { type: "button", "data-sort": column.key, onclick: turn }, column.name),
    );
  });
  const search = make("input", {
    type: "search",
    id: "find",
    size: 18,
    oninput: (event) => change({ find: event.target.value }),
  });
  const valid = make("select", { id: "filter-valid", onchange: (event) => change({ valid: event.target.value }) });
  fillSelect(
    valid,
    [
      ["", "all"],
      ["yes", "with a valid round"],
      ["no", "with an invalid round"],
    ],
    state.valid ?? "",
  );
  const download = make(
    "button",
    { type: "button", id: "csv", onclick: () => save(filteredCells()) },
    "Download these rows as CSV",
  );
  let limit = PAGE;

  const show = (rows = PAGE) => {
    limit = rows;
    const cells = filteredCells();
    const opened = cells.findIndex((cell) => cell.id === state.open);
    if (opened >= limit) limit = opened + 1;
    body.replaceChildren(...cells.slice(0, limit).flatMap(rowOf));
    count.textContent = `${plural(cells.length, "row")} of ${CELLS.length.toLocaleString("en-US")}, of ${plural(MEASUREMENTS.length, "measurement")}.`;
    more.hidden = cells.length <= limit;
    more.textContent = `Show ${Math.min(PAGE, cells.length - limit)} more of ${cells.length - limit}`;
    search.value = state.find ?? "";
    valid.value = state.valid ?? "";
    heads.forEach((head, place) => {
      const key = SHOWN[place].key;
      if (state.sort === key) head.setAttribute("aria-sort", "ascending");
      else if (state.sort === `-${key}`) head.setAttribute("aria-sort", "descending");
      else head.removeAttribute("aria-sort");
    });
  };
  section.append(
    make(
      "p",
      { class: "note" },
      "A row is a service under one load, over all of its rounds. It opens to its rounds, and each round to its command line, versions, image, causes and raw output.",
    ),
    make("div", { class: "bar" }, make("label", {}, "Find ", search), make("label", {}, "Rows ", valid), download),
    count,
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Measurements" },
      make(
        "table",
        { id: "rows" },
        make("caption", { class: "unseen" }, "Measurements"),
        make("thead", {}, make("tr", {}, ...heads)),
        body,
      ),
    ),
    make("div", { class: "bar" }, more),
  );
  section.hidden = false;
  show();
  onChange((keys) => {
    if (keys.length === 1 && keys[0] === "load") return;
    if (keys.length === 1 && keys[0] === "open") return;
    show();
    say(count.textContent);
  });
}

/** The cell's row, and below it what it opens to. */
function rowOf(cell) {
  const inside = make("div", { class: "inside" });
  const below = make("tr", { class: "opened", hidden: true }, make("td", { colspan: SHOWN.length }, inside));
  const toggle = (open) => {
    opener.setAttribute("aria-expanded", String(open));
    below.hidden = !open;
    if (open && !inside.childElementCount) inside.append(...openedCell(cell));
  };
  const name =
    cell.mode === "solo"
      ? cell.server + (cell.package ? ` (${cell.package})` : "")
      : `${cell.server} (${cell.mode === "null" ? "control" : `pair ${cell.pair}`})`;
  const opener = make(
    "button",
    { class: "opener", type: "button", "aria-expanded": "false", "aria-label": `${cell.id}: its rounds` },
    name,
  );
  opener.addEventListener("click", () => {
    const open = opener.getAttribute("aria-expanded") !== "true";
    toggle(open);
    change({ open: open ? cell.id : "" });
  });
  const words = SHOWN.map((column) => {
    if (column.key === "server") return opener;
    if (column.key === "goodput" && !cell.valid) return make("span", { class: "invalid" }, cell.state || "not valid");
    return column.write ? column.write(cell) : cell[column.key];
  });
  const row = make(
    "tr",
    {},
    ...SHOWN.map((column, place) => make("td", { class: column.figure ? "figure" : null }, words[place])),
  );
  if (cell.id === state.open) toggle(true);
  return [row, below];
}

function facts(entries) {
  const told = entries.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return make(
    "dl",
    { class: "facts" },
    ...told.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]),
  );
}

function openedCell(cell) {
  const service = DATA.services[cell.service] ?? {};
  const checks = service.checks;
  const rounds = cell.measurements.map((place) => MEASUREMENTS[place]);
  const columns = [
    ["round"],
    ["requests/s", true],
    ["p50", true],
    ["p99", true],
    ["CPU/request", true],
    ["peak memory", true],
    ["steal", true],
    ["foreign CPU", true],
    ["pressure", true],
    ["state"],
  ];
  const rows = rounds.map((one) => [
    one.window === null ? String(one.round) : `${one.round}, window ${one.window}`,
    number(one.goodput),
    milliseconds(one.p50_s),
    milliseconds(one.p99_s),
    milliseconds(one.cpu_s),
    megabytes(one.memory_bytes),
    share(one.steal),
    share(one.foreign),
    share(one.pressure),
    one.valid ? "valid" : make("span", { class: "invalid" }, one.causes.join("; ") || "not valid"),
  ]);
  return [
    make("h3", {}, cell.id),
    facts([
      ["Python", service.python_build ?? service.missing?.python_build],
      ["base", service.base_made ?? service.missing?.base_label],
      ["image", service.image ?? service.missing?.image_id],
      [
        "verification",
        checks
          ? `${checks.passed} checks passed, ${checks.failed.length} failed${checks.skipped ? `, ${checks.skipped} skipped` : ""}`
          : "its checks were not saved",
      ],
      ["what failed", checks?.failed.join("; ")],
      ["not loaded because", service.failure],
    ]),
    service.packages?.length
      ? make(
          "details",
          {},
          make("summary", {}, plural(service.packages.length, "package")),
          make("p", {}, service.packages.join(", ")),
        )
      : null,
    cell.pair
      ? make(
          "p",
          { class: "note" },
          "One side of a pair has half of the CPUs: what follows is what its verdict rests on, and no figure of the service's own.",
        )
      : null,
    tableOf(`Rounds of ${cell.id}`, columns, rows),
    ...rounds.map(openedRound),
  ].filter(Boolean);
}

function openedRound(one) {
  const inside = make("div");
  const details = make(
    "details",
    { class: "round" },
    make(
      "summary",
      {},
      `Round ${one.round}${one.window === null ? "" : `, window ${one.window}`}: command line, figures and raw output`,
    ),
    inside,
  );
  details.addEventListener("toggle", async () => {
    if (!details.open || inside.childElementCount) return;
    try {
      inside.replaceChildren(...rawOf(one, await detailsOf(one.place)));
    } catch (problem) {
      inside.replaceChildren(
        make(
          "p",
          { class: "invalid" },
          `This browser cannot inflate the details (${problem.message}); they are in the run's records.jsonl.`,
        ),
      );
    }
  });
  return details;
}

function rawOf(one, record) {
  const plain = (value) => {
    if (value === null || value === undefined) return null;
    if (typeof value === "number") return Number.isInteger(value) ? value.toLocaleString("en-US") : number(value);
    if (typeof value !== "object") return String(value);
    const told = Object.entries(value).filter(([, part]) => part !== null && part !== NOTHING);
    return told
      .map(([name, part]) => `${name} ${part && typeof part === "object" ? JSON.stringify(part) : plain(part)}`)
      .join(", ");
  };
  const latency = Object.entries(record.latency_s ?? {})
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${milliseconds(value)}`);
  const missing = Object.entries(record.nulls ?? {}).map(([name, reason]) => `${name}: ${reason}`);
  return [
    one.causes.length ? make("p", { class: "invalid" }, one.causes.join("; ")) : null,
    make("h4", {}, "Command line"),
    make(
      "pre",
      { tabindex: 0 },
      (record.command ? record.command.map(quoted).join(" ") : (record.nulls?.command ?? "not known")) +
        (record.stdin ? `\n\nstdin:\n${record.stdin}` : ""),
    ),
    facts([
      ["measurement", `${record.id}, ${record.outcome}`],
      ["tool", plain(record.tool_version)],
      ["exit status", plain(record.exit_status)],
      ["image", plain(record.image_id)],
      [
        "requests",
        `${plain(record.requests) ?? NOTHING} answered, ${plain(record.attempts) ?? NOTHING} begun, ${plain(record.successes) ?? NOTHING} good, in ${plain(record.duration_s) ?? NOTHING} s`,
      ],
      ["errors", plain(record.errors) || "none that the tool tells"],
      ["latency", latency.join(", ")],
      [
        "CPU seconds",
        plain({ server: record.server_cpu_s, database: record.database_cpu_s, "load generator": record.loadgen_cpu_s }),
      ],
      [
        "load generator",
        plain({ busy: share(record.loadgen_busy_ratio), "waited for a CPU": share(record.loadgen_wait_ratio) }),
      ],
      ["lag, s", plain(record.lag_s)],
      ["limits of the server", plain(record.server_limits)],
      ["limits of the tool", plain(record.loadgen_limits)],
      ["packages", record.packages_file],
      ["raw file", record.raw_file],
      ["its SHA-256", record.raw_sha256],
    ]),
    missing.length
      ? make(
          "details",
          {},
          make("summary", {}, `${missing.length} figures are missing, and why`),
          make("ul", {}, ...missing.map((words) => make("li", {}, words))),
        )
      : null,
    make("h4", {}, "Raw output"),
    make("pre", { class: "raw", tabindex: 0 }, record.raw ?? "No output was saved."),
  ].filter(Boolean);
}

const quoted = (argument) => (/^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`);

/** A spreadsheet takes a cell that begins like a formula for one; an apostrophe makes it text. */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const CSV = [
  "service",
  "server",
  "framework",
  "python",
  "base",
  "scenario",
  "tool",
  "level",
  "mode",
  "pair",
  "goodput",
  "low",
  "high",
  "p99_s",
  "cpu_s",
  "memory_bytes",
  "valid",
  "rounds",
  "state",
];
const CSV_NAMES = {
  goodput: "goodput_per_s",
  low: "goodput_low_per_s",
  high: "goodput_high_per_s",
  cpu_s: "cpu_per_request_s",
  memory_bytes: "memory_peak_bytes",
  valid: "valid_rounds",
};

function csvOf(cells) {
  const lines = [CSV.map((name) => CSV_NAMES[name] ?? name), ...cells.map((cell) => CSV.map((name) => cell[name]))];
  return lines.map((line) => line.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function save(cells) {
  const url = URL.createObjectURL(new Blob([csvOf(cells)], { type: "text/csv" }));
  const name = `${DATA.name.replace(/[^\w.-]+/g, "-")}.csv`;
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  say(`${plural(cells.length, "row")} saved as ${name}`);
}
