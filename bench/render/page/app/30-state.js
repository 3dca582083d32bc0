/* Keeps the filters, the sort order and the open row in the URL fragment, so that a link reproduces the view. */

const FILTERS = ["server", "framework", "python", "base", "settings", "scenario", "tool"];
const KEYS = [...FILTERS, "load", "valid", "find", "sort", "open"];
const listeners = [];
let state = read();

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(KEYS.filter((key) => given.get(key)).map((key) => [key, given.get(key)]));
}

/** Changes some keys (an empty value removes the key) and notifies every listener. */
function change(changes) {
  const next = { ...state, ...changes };
  state = Object.fromEntries(KEYS.filter((key) => next[key]).map((key) => [key, next[key]]));
  const text = new URLSearchParams(state).toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  for (const listener of listeners) listener(Object.keys(changes));
}

const onChange = (listener) => listeners.push(listener);

addEventListener("hashchange", () => {
  // A link to a section of the page is not state.
  if (/^#[a-z]+$/.test(location.hash)) return;
  state = read();
  for (const listener of listeners) listener(KEYS);
});

/** Whether the cell passes the filters. */
const passesFilters = (cell) => FILTERS.every((key) => !state[key] || cell[key] === state[key]);

/** Whether the cell's row is listed: filters, validity and search text. */
function isListed(cell) {
  if (!passesFilters(cell)) return false;
  if (state.valid === "yes" && !cell.valid) return false;
  if (state.valid === "no" && cell.valid === cell.rounds) return false;
  return !state.find || cell.id.toLowerCase().includes(state.find.toLowerCase());
}
