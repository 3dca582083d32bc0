/* The row of filters: it holds for the pictures, the measurements and the published tables alike. */

const FILTER_NAMES = {
  server: "Server",
  framework: "Framework",
  python: "Python",
  base: "Base",
  scenario: "Scenario",
  tool: "Tool",
};

/** The loads that the filters leave, each with its cells; that with most valid cells first. */
function loads() {
  const groups = new Map();
  for (const cell of SOLO) {
    if (!wanted(cell)) continue;
    if (!groups.has(cell.load)) groups.set(cell.load, []);
    groups.get(cell.load).push(cell);
  }
  return groups;
}

/** The load that is drawn: the chosen one while the filters leave it, else the one with the most valid cells. */
function drawnLoad(groups) {
  if (groups.has(state.load)) return state.load;
  const closed = (cells) => (cells[0].rate === null ? 1 : 0);
  const ranked = [...groups].sort(
    ([one, a], [other, b]) =>
      closed(b) - closed(a) || b.filter((c) => c.valid).length - a.filter((c) => c.valid).length || natural(other, one),
  );
  return ranked.length ? ranked[0][0] : null;
}

function fillSelect(select, options, chosen) {
  select.replaceChildren(
    ...options.map(([value, words]) => make("option", { value, selected: value === chosen }, words)),
  );
  select.value = chosen;
}

function filters() {
  const section = document.getElementById("filters");
  const fields = make("div", { class: "fields" });
  const selects = {};
  const field = (key, words, control) => fields.append(make("label", {}, words, control));
  for (const key of FILTERS) {
    const values = [...new Set(CELLS.filter((cell) => cell.mode !== "null").map((cell) => cell[key]))].sort(natural);
    if (values.length < 2) continue;
    selects[key] = make("select", { id: `filter-${key}`, onchange: (event) => change({ [key]: event.target.value }) });
    fillSelect(selects[key], [["", "all"], ...values.map((value) => [value, value])], state[key] ?? "");
    field(key, FILTER_NAMES[key], selects[key]);
  }
  const load = make("select", {
    id: "filter-load",
    class: "load",
    onchange: (event) => change({ load: event.target.value }),
  });
  const showLoads = () => {
    const groups = loads();
    const options = [...groups.keys()].sort(natural).map((name) => {
      const first = groups.get(name)[0];
      return [name, `${first.scenario}, ${first.tool}, ${levelWords(first.level)}`];
    });
    fillSelect(load, options, drawnLoad(groups) ?? "");
  };
  if (SOLO.length) field("load", "Load in the pictures", load);
  const reset = make(
    "button",
    {
      type: "button",
      onclick: () => change(Object.fromEntries(FILTERS.concat("load", "valid", "find").map((key) => [key, ""]))),
    },
    "Clear",
  );
  fields.append(reset);
  const show = () => {
    for (const [key, select] of Object.entries(selects)) select.value = state[key] ?? "";
    showLoads();
    reset.disabled = !FILTERS.concat("load", "valid", "find").some((key) => state[key]);
  };
  show();
  onChange(show);
  section.append(make("h2", { class: "unseen" }, "Filters"), fields);
  section.hidden = false;
}
