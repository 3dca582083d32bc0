/* The report's own tables: sorted by a click on a column, and held to the same filters by the words in them. */

const COORDINATE_OF = new Map();
for (const cell of CELLS) for (const key of ["scenario", "tool"]) COORDINATE_OF.set(cell[key], key);
const PLACE_OF = new Map(CELLS.map((cell) => [cell.service, cell]));
const SERVICE_KEYS = ["server", "framework", "python", "base"];

/** Whether a word of a table is against the filters: another scenario, another tool, a service that they leave out. */
function against(text) {
  const key = COORDINATE_OF.get(text);
  if (key && state[key] && state[key] !== text) return true;
  const place = PLACE_OF.get(text);
  return Boolean(place) && SERVICE_KEYS.some((one) => state[one] && place[one] !== state[one]);
}

/** What a cell sorts by: its first number, else its text. */
function sortKey(text) {
  const figure = /^[+−-]?[\d,]*\.?\d+/.exec(text);
  return figure ? Number(figure[0].replaceAll(",", "").replace("−", "-")) : null;
}

function published() {
  const tables = [...document.querySelectorAll("table.published")].map((table) => ({
    figure: table.closest("figure"),
    title: table.caption.textContent,
    heads: [...table.tHead.rows[0].cells],
    rows: [...table.tBodies[0].rows],
    body: table.tBodies[0],
  }));
  for (const table of tables) table.heads.forEach((head, place) => sortable(table, head, place));
  const filter = () => {
    for (const { figure, title, heads, rows } of tables) {
      figure.hidden = title.split(/[\s,:]+/).some(against);
      const columns = heads.map((head) => COORDINATE_OF.get(head.textContent) && against(head.textContent));
      heads.forEach((head, place) => (head.hidden = Boolean(columns[place])));
      let left = 0;
      for (const row of rows) {
        row.hidden = [...row.cells].some((cell) => against(cell.textContent));
        left += !row.hidden;
        if (columns.some(Boolean) || row.dataset.columns) {
          row.dataset.columns = "yes";
          [...row.cells].forEach((cell, place) => (cell.hidden = Boolean(columns[place])));
        }
      }
      if (rows.length && !left) figure.hidden = true;
    }
  };
  filter();
  onChange((keys) => keys.some((key) => FILTERS.includes(key)) && filter());
}

function sortable(table, head, place) {
  const name = head.textContent;
  const button = make("button", { type: "button" }, name);
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const one of table.heads) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keys = new Map(table.rows.map((row) => [row, sortKey(row.cells[place].textContent)]));
    const order = table.rows.slice().sort((a, b) => {
      const [one, other] = [keys.get(a), keys.get(b)];
      // What has no figure stands last, whichever way.
      if (one === null && other === null)
        return (down ? -1 : 1) * natural(a.cells[place].textContent, b.cells[place].textContent);
      if (one === null || other === null) return one === null ? 1 : -1;
      return (down ? -1 : 1) * (one - other);
    });
    table.body.append(...order);
    say(`${table.title}, sorted by ${name}, ${down ? "falling" : "rising"}`);
  });
}
