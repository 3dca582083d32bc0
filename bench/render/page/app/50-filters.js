/* Draws the filter bar, which applies to rankings, charts, the list of measurements and the report's tables. */

const FILTER_NAMES = {
  server: "Server",
  framework: "Framework",
  python: "Python",
  base: "Base",
  settings: "Settings",
  scenario: "Scenario",
  tool: "Tool",
  service: "Server",
  question: "Question",
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

/** The selected load if it passes the filters, else the first ranking's, else the one with the most valid cells. */
function chartedLoad(groups) {
  if (groups.has(state.load)) return state.load;
  const names = DATA.rankings.map(rankedLoad);
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

/** A filter that opens to a list of its values; `show` updates it from the state. */
function choices(key, values) {
  const summary = make("summary", {});
  const boxes = values.map((value) => make("input", { type: "checkbox", value }));
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  for (const box of boxes) box.addEventListener("change", () => change({ [key]: chosen() }));
  const list = make(
    "div",
    { class: "values", role: "group", "aria-label": FILTER_NAMES[key] },
    ...boxes.map((box) => make("label", {}, box, box.value)),
  );
  const show = () => {
    const wanted = state[key] ?? [];
    for (const box of boxes) box.checked = wanted.includes(box.value);
    const told = wanted.length > 1 ? `${wanted.length} of ${values.length}` : (wanted[0] ?? "all");
    summary.textContent = `${FILTER_NAMES[key]}: ${told}`;
  };
  return { element: make("details", { id: `filter-${key}`, class: "choice" }, summary, list), show };
}

/** Closes an open list of values when something else is used. */
function closeElsewhere(section) {
  const close = (target) => {
    for (const one of section.querySelectorAll(".choice[open]")) if (!one.contains(target)) one.open = false;
  };
  document.addEventListener("pointerdown", (event) => close(event.target));
  section.addEventListener("focusin", (event) => close(event.target));
  section.addEventListener("keydown", (event) => {
    const open = section.querySelector(".choice[open]");
    if (event.key !== "Escape" || !open) return;
    open.open = false;
    open.firstChild.focus();
  });
}

function filters() {
  const section = document.getElementById("filters");
  const fields = make("div", { class: "fields" });
  const search = make("input", {
    type: "search",
    id: "find",
    size: 18,
    placeholder: "Search",
    "aria-label": "Search",
    oninput: (event) => change({ find: event.target.value.trim() }),
  });
  fields.append(search);
  const shown = [];
  for (const key of FILTERS) {
    const values = [...new Set(CELLS.filter((cell) => cell.mode !== "null").map((cell) => cell[key]))]
      .filter(Boolean)
      .sort(natural);
    if (values.length < 2) continue;
    const { element, show } = choices(key, values);
    fields.append(element);
    shown.push(show);
  }
  const every = [...SELECTION, "valid"];
  const reset = make(
    "button",
    { type: "button", onclick: () => change(Object.fromEntries(every.map((key) => [key, ""]))) },
    "Clear filters",
  );
  const picked = make("p", { id: "picked" });
  fields.append(reset);
  const show = () => {
    for (const one of shown) one();
    if (search.value.trim() !== (state.find ?? "")) search.value = state.find ?? "";
    reset.hidden = !every.some((key) => state[key]);
    showPicked(picked);
  };
  show();
  onChange(show);
  closeElsewhere(section);
  const folded = make(
    "details",
    { open: innerWidth > 640 || isFiltered() },
    make("summary", {}, "Search and filter"),
    fields,
  );
  section.append(make("h2", { class: "visually-hidden" }, "Filters"), folded, picked);
  section.hidden = false;
}

/** Shows the picked services in the bar: buttons to compare two side by side, or for the rounds of one. */
function showPicked(place) {
  const names = state.pick ?? [];
  place.hidden = !names.length;
  if (!names.length) return place.replaceChildren();
  const cell = ALONE.find(({ service }) => service === names[0]);
  const rounds = make("button", { type: "button", onclick: () => openRow(cell.id) }, "What it is, and its rounds");
  const clear = make("button", { type: "button", onclick: () => change({ pick: [] }) }, "Clear picks");
  const compare = make("button", { type: "button", onclick: toPair }, `Compare ${names.map(nameOf).join(" and ")}`);
  const single = [`${nameOf(names[0])}: pick another one to see both side by side`, ...(cell ? [rounds] : [])];
  place.replaceChildren(...(names.length > 1 ? [compare] : single), clear);
}

/** The choice of the charted load; hidden if there is only one. */
function loadChoice() {
  const load = make("select", {
    id: "filter-load",
    class: "load",
    onchange: (event) => change({ load: event.target.value }),
  });
  const label = make("label", { class: "bar" }, "Load in the charts ", load);
  const show = () => {
    const groups = loads();
    const options = [...groups.keys()].sort(natural).map((name) => [name, loadText(groups.get(name)[0])]);
    fillSelect(load, options, chartedLoad(groups) ?? "");
    label.hidden = options.length < 2;
  };
  show();
  onChange(show);
  return label;
}
