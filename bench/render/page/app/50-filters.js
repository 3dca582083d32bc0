/* Draws the filter bar, which applies to the charts, the list of measurements and the report's tables. */

const FILTER_NAMES = {
  server: "Server",
  framework: "Framework",
  python: "Python",
  base: "Base",
  settings: "Settings",
  scenario: "Scenario",
  tool: "Tool",
};

/** The loads that pass the filters, each with its cells. */
function loads() {
  const groups = new Map();
  for (const cell of ALONE) {
    if (!passesFilters(cell)) continue;
    if (!groups.has(cell.load)) groups.set(cell.load, []);
    groups.get(cell.load).push(cell);
  }
  return groups;
}

/** The charted load: the selected one if it passes the filters, else the first ranking's, else that with the most valid cells. */
function chartedLoad(groups) {
  if (groups.has(state.load)) return state.load;
  const names = DATA.rankings.map(({ scenario, tool, level }) => [scenario, tool, level, "turns"].join(" "));
  const first = names.find((load) => groups.has(load));
  if (first) return first;
  const closed = (cells) => (cells[0].rate === null ? 1 : 0);
  const ranked = [...groups].sort(
    ([one, a], [other, b]) =>
      closed(b) - closed(a) || b.filter((c) => c.valid).length - a.filter((c) => c.valid).length || natural(other, one),
  );
  return ranked.length ? ranked[0][0] : null;
}

function fillSelect(select, options, chosen) {
  select.replaceChildren(
    ...options.map(([value, text]) => make("option", { value, selected: value === chosen }, text)),
  );
  select.value = chosen;
}

function filters() {
  const section = document.getElementById("filters");
  const fields = make("div", { class: "fields" });
  const selects = {};
  const field = (name, control) => fields.append(make("label", {}, name, control));
  for (const key of FILTERS) {
    const values = [...new Set(CELLS.filter((cell) => cell.mode !== "null").map((cell) => cell[key]))]
      .filter(Boolean)
      .sort(natural);
    if (values.length < 2) continue;
    selects[key] = make("select", { id: `filter-${key}`, onchange: (event) => change({ [key]: event.target.value }) });
    fillSelect(selects[key], [["", "all"], ...values.map((value) => [value, value])], state[key] ?? "");
    field(FILTER_NAMES[key], selects[key]);
  }
  const load = make("select", {
    id: "filter-load",
    class: "load",
    onchange: (event) => change({ load: event.target.value }),
  });
  const showLoads = () => {
    const groups = loads();
    const options = [...groups.keys()].sort(natural).map((name) => [name, loadText(groups.get(name)[0])]);
    fillSelect(load, options, chartedLoad(groups) ?? "");
  };
  if (ALONE.length) field("Load in the charts", load);
  const reset = make(
    "button",
    {
      type: "button",
      onclick: () => change(Object.fromEntries(FILTERS.concat("load", "valid", "find").map((key) => [key, ""]))),
    },
    "Clear filters",
  );
  fields.append(reset);
  const show = () => {
    for (const [key, select] of Object.entries(selects)) select.value = state[key] ?? "";
    showLoads();
    reset.disabled = !FILTERS.concat("load", "valid", "find").some((key) => state[key]);
  };
  show();
  onChange(show);
  section.append(make("h2", { class: "visually-hidden" }, "Filters"), fields);
  section.hidden = false;
}
