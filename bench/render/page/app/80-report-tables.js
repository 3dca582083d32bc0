/* Makes the report's tables sortable, and filters them by the names in their cells. */

const COORDINATE_OF = new Map();
for (const cell of CELLS) for (const key of ["scenario", "tool"]) COORDINATE_OF.set(cell[key], key);
const CELL_OF = new Map(CELLS.map((cell) => [cell.service, cell]));
DATA.rankings.forEach(nameServices);
let passing = passingServices();

/** A ranking's labels name services too, unless two services share a label. */
function nameServices({ services, labels }) {
  for (const [place, label] of labels.entries()) {
    const [cell, before] = [CELL_OF.get(services[place]), CELL_OF.get(label)];
    if (before && before !== cell) CELL_OF.delete(label);
    else if (cell) CELL_OF.set(label, cell);
  }
}

/** Whether the text names a scenario, tool or service that does not pass the filters. */
function isFilteredOut(text) {
  const key = COORDINATE_OF.get(text);
  if (key && state[key] && !state[key].includes(text)) return true;
  const cell = CELL_OF.get(text);
  return Boolean(cell) && !passing.has(cell.service);
}

/** The number at the beginning of a cell, also after "about" or a bound's sign, by which it sorts; null without one. */
function sortKey(text) {
  const figure = /^(?:about |[≥≤] ?)?([+−-]?[\d,]*\.?\d+)/.exec(text);
  return figure ? Number(figure[1].replaceAll(",", "").replace("−", "-")) : null;
}

function reportTables() {
  const tables = [...document.querySelectorAll("table.report")].map((table) => ({
    figure: table.closest("figure"),
    title: table.caption.textContent,
    heads: [...table.tHead.rows[0].cells],
    rows: [...table.tBodies[0].rows],
    body: table.tBodies[0],
  }));
  for (const table of tables) for (const [index, head] of table.heads.entries()) makeSortable(table, head, index);
  // A table that is folded away is filtered when it is opened.
  const filter = () => {
    for (const table of tables) {
      if (!table.stale || table.figure.closest("details:not([open])")) continue;
      table.stale = false;
      filterTable(table);
    }
  };
  const select = () => {
    passing = passingServices();
    for (const table of tables) table.stale = true;
    filter();
  };
  if (isFiltered()) select();
  onChange((keys) => isSelection(keys) && select());
  document.addEventListener("toggle", filter, true);
}

/** Hides rows and columns that do not pass the filters, and the whole table if nothing is left of it. */
function filterTable({ figure, title, heads, rows }) {
  const hidden = heads.map((head) => COORDINATE_OF.has(head.textContent) && isFilteredOut(head.textContent));
  for (const [index, head] of heads.entries()) head.hidden = hidden[index];
  let left = 0;
  for (const row of rows) {
    const cells = [...row.cells];
    row.hidden = cells.some((cell) => isFilteredOut(cell.textContent));
    left += !row.hidden;
    for (const [index, cell] of cells.entries()) if (cell.hidden !== hidden[index]) cell.hidden = hidden[index];
  }
  // The picture would show releases that the filters hide in the table.
  const picture = figure.closest(".ladder")?.querySelector('[role="img"]');
  if (picture) picture.hidden = left < rows.length;
  figure.hidden = title.split(/[\s,:]+/).some(isFilteredOut) || (rows.length > 0 && !left);
}

/** Makes a column sortable by its head; `choose` is told whether the order is to be descending. */
function makeSortable(table, head, index, choose = (down) => sortRows(table, index, down)) {
  const name = head.textContent;
  const button = make("button", { type: "button" }, name);
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const orders = head.dataset.first ? ["descending", "ascending"] : ["ascending", "descending"];
    const order = orders[head.getAttribute("aria-sort") === orders[0] ? 1 : 0];
    choose(order === "descending");
    announce(`${table.title}, sorted by ${name}, ${order}`);
  });
}

function sortRows(table, index, down) {
  for (const head of table.heads) head.removeAttribute("aria-sort");
  table.heads[index].setAttribute("aria-sort", down ? "descending" : "ascending");
  const keys = new Map(table.rows.map((row) => [row, sortKey(row.cells[index].textContent)]));
  const order = table.rows.slice().sort((a, b) => {
    const [one, other] = [keys.get(a), keys.get(b)];
    // Cells without a number come last in either direction.
    if (one === null && other === null)
      return (down ? -1 : 1) * natural(a.cells[index].textContent, b.cells[index].textContent);
    if (one === null || other === null) return one === null ? 1 : -1;
    return (down ? -1 : 1) * (one - other);
  });
  table.body.append(...order);
}
