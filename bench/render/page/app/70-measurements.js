/* Draws the list of measurements: a row per cell, filtered and sorted, that opens to its rounds. */

const PAGE_ROWS = 20;
const COLUMNS = [
  { key: "server", name: "Server" },
  { key: "framework", name: "Framework" },
  { key: "python", name: "Python" },
  { key: "base", name: "Base" },
  { key: "settings", name: "Settings" },
  { key: "scenario", name: "Scenario" },
  { key: "tool", name: "Tool" },
  { key: "level", name: "Level" },
  { key: "goodput", name: "Requests/s", figure: true, write: (cell) => number(cell.goodput) },
  { key: "low", name: "95 % interval", figure: true, write: intervalText },
  { key: "p99_s", name: "p99", figure: true, write: (cell) => milliseconds(cell.p99_s) },
  { key: "cpu_s", name: "CPU/request", figure: true, write: (cell) => milliseconds(cell.cpu_s) },
  { key: "memory_bytes", name: "Memory under load", figure: true, write: (cell) => megabytes(cell.memory_bytes) },
  { key: "valid", name: "Valid rounds", figure: true, write: (cell) => `${cell.valid} of ${cell.rounds}` },
];

// A coordinate that is the same in all rows needs no column, nor does a figure that no row has.
const SHOWN_COLUMNS = COLUMNS.filter(({ key }) => {
  if (!COORDINATES.includes(key)) return !ALONE.length || ALONE.some((cell) => cell[key] !== null);
  return key === "server" || new Set(CELLS.filter((cell) => cell.mode !== "null").map((cell) => cell[key])).size > 1;
});

/** The listed cells in the selected order; cells without a value come last in either direction. */
function filteredCells() {
  const cells = CELLS.filter(isListed);
  const [, down, key] = /^(-?)(\w+)$/.exec(state.sort ?? "") ?? [];
  const column = COLUMNS.find((one) => one.key === key);
  if (!column) return cells;
  const direction = down ? -1 : 1;
  const missing = (cell) =>
    cell[key] === null || (column.figure && !isAlone(cell)) || (column.figure && key !== "valid" && !cell.valid);
  return cells.sort((a, b) => {
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return direction * (column.figure ? a[key] - b[key] : natural(a[key], b[key]));
  });
}

function measurements() {
  const section = document.getElementById("measurements");
  const count = make("p", { class: "note", id: "count" });
  const body = make("tbody");
  const more = make("button", { type: "button", onclick: () => show(limit + PAGE_ROWS) });
  const heads = SHOWN_COLUMNS.map((column) => {
    // The first click sorts numbers from the highest and text from A, the second reverses, the third resets.
    const orders = column.figure ? [`-${column.key}`, column.key, ""] : [column.key, `-${column.key}`, ""];
    const sort = () => change({ sort: orders[(orders.indexOf(state.sort) + 1) % 3] });
    return make(
      "th",
      { scope: "col", class: column.figure ? "figure" : null },
      make("button", { type: "button", "data-sort": column.key, onclick: sort }, column.name),
    );
  });
  const valid = make("select", { id: "filter-valid", onchange: (event) => change({ valid: event.target.value }) });
  fillSelect(
    valid,
    [
      ["", "all rows"],
      ["yes", "rows with a valid round"],
      ["no", "rows with an invalid round"],
    ],
    state.valid ?? "",
  );
  let limit = PAGE_ROWS;

  const show = (rows = PAGE_ROWS) => {
    limit = rows;
    const cells = filteredCells();
    const opened = cells.findIndex((cell) => cell.id === state.open);
    if (opened >= limit) limit = opened + 1;
    body.replaceChildren(...cells.slice(0, limit).flatMap(cellRows));
    count.textContent = `${plural(cells.length, "row")} of ${CELLS.length.toLocaleString("en-US")}, from ${plural(MEASUREMENTS.length, "measurement")}.`;
    more.hidden = cells.length <= limit;
    const left = cells.length - limit;
    more.textContent = left > PAGE_ROWS ? `Show ${PAGE_ROWS} more of ${left}` : `Show ${left} more`;
    valid.value = state.valid ?? "";
    heads.forEach((head, index) => {
      const key = SHOWN_COLUMNS[index].key;
      if (state.sort === key) head.setAttribute("aria-sort", "ascending");
      else if (state.sort === `-${key}`) head.setAttribute("aria-sort", "descending");
      else head.removeAttribute("aria-sort");
    });
  };
  section.append(
    make(
      "p",
      { class: "note" },
      "A row is one service under one load, over all rounds. Open a row for its rounds, and a round for its command line, versions, image, causes and raw output.",
    ),
    make("div", { class: "bar" }, make("label", {}, "Show ", valid)),
    count,
    make(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Measurements" },
      make(
        "table",
        { id: "rows" },
        make("caption", { class: "visually-hidden" }, "Measurements"),
        make("thead", {}, make("tr", {}, ...heads)),
        body,
      ),
    ),
    make("div", { class: "bar" }, more),
  );
  section.hidden = false;
  show();
  const showPicks = () => {
    for (const box of body.querySelectorAll(".pick")) box.checked = Boolean(state.pick?.includes(box.value));
  };
  onChange((keys) => {
    if (keys.length === 1 && keys[0] === "load") return;
    if (keys.length === 1 && keys[0] === "open") return;
    if (keys.length === 1 && keys[0] === "pick") return showPicks();
    show();
    announce(count.textContent);
  });
}

/** Opens a single row of the list and goes there. */
function openRow(id) {
  change({ open: id, valid: "" });
  const row = document.querySelector("#rows .opened:not([hidden])")?.previousElementSibling;
  row?.scrollIntoView();
  row?.querySelector(".opener").focus({ preventScroll: true });
}

/** The cell's row, and a hidden row below it with the details. */
function cellRows(cell) {
  const inside = make("div", { class: "inside" });
  const below = make("tr", { class: "opened", hidden: true }, make("td", { colspan: SHOWN_COLUMNS.length }, inside));
  const toggle = (open) => {
    opener.setAttribute("aria-expanded", String(open));
    below.hidden = !open;
    if (open && !inside.childElementCount) inside.append(...cellDetails(cell));
  };
  const name = isAlone(cell) ? cell.server + (cell.package ? ` (${cell.package})` : "") : `${cell.server} (control)`;
  const opener = make(
    "button",
    { class: "opener", type: "button", "aria-expanded": "false", "aria-label": `Rounds of ${cell.id}` },
    name,
  );
  opener.addEventListener("click", () => {
    const open = opener.getAttribute("aria-expanded") !== "true";
    toggle(open);
    change({ open: open ? cell.id : "" });
  });
  const contents = SHOWN_COLUMNS.map((column) => {
    if (column.key === "server")
      return make("span", { class: "first" }, isAlone(cell) ? pickBox(cell.service) : null, opener);
    if (column.key === "goodput" && !cell.valid) return make("span", { class: "invalid" }, cell.state || "not valid");
    return column.write ? column.write(cell) : cell[column.key];
  });
  const row = make(
    "tr",
    {},
    ...SHOWN_COLUMNS.map((column, index) => make("td", { class: column.figure ? "figure" : null }, contents[index])),
  );
  if (cell.id === state.open) toggle(true);
  return [row, below];
}
