/* Keeps filters, picks, sort orders and the open row in the URL fragment: a link reproduces the view. */

const FILTERS = ["server", "framework", "python", "base", "settings", "scenario", "tool"];
/** What hides rows; each filter may have several values. */
const SELECTION = [...FILTERS, "find"];
const OF_EVENTS = ["service", "question"];
/** The filters of the heat map of events; `event` and `on` name its open cell. */
const SEVERAL = new Set([...FILTERS, "pick", ...OF_EVENTS]);
const KEYS = [...SELECTION, "load", "valid", "sort", "order", "open", "pick", ...OF_EVENTS, "event", "on"];
const listeners = [];
let state = read();

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  return Object.fromEntries(
    KEYS.filter((key) => given.get(key)).map((key) => [
      key,
      SEVERAL.has(key) ? given.getAll(key).filter(Boolean) : given.get(key),
    ]),
  );
}

/** Changes some keys (an empty value removes the key) and notifies every listener. */
function change(changes) {
  const next = { ...state, ...changes };
  state = Object.fromEntries(KEYS.filter((key) => next[key]?.length).map((key) => [key, next[key]]));
  const given = Object.entries(state).flatMap(([key, value]) => [value].flat().map((one) => [key, one]));
  const text = new URLSearchParams(given).toString();
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

const isSelection = (keys) => keys.some((key) => SELECTION.includes(key));
const isFiltered = () => SELECTION.some((key) => state[key]);

/** Whether the cell passes the filters, and has every word of the search. */
function passesFilters(cell) {
  if (!FILTERS.every((key) => !state[key] || state[key].includes(cell[key]))) return false;
  return (
    !state.find ||
    state.find
      .toLowerCase()
      .split(/\s+/)
      .every((one) => cell.words.includes(one))
  );
}

/** Whether the cell's row is listed: filters, search text and validity. */
function isListed(cell) {
  if (!passesFilters(cell)) return false;
  if (state.valid === "yes" && !cell.valid) return false;
  return state.valid !== "no" || cell.valid < cell.rounds;
}

/** The services with a cell that passes the filters. */
const passingServices = () => new Set(CELLS.filter(passesFilters).map((cell) => cell.service));

/** Picks a service to compare, or drops it; a third pick replaces the older of the two. */
function pick(service, picked) {
  const others = (state.pick ?? []).filter((name) => name !== service);
  change({ pick: picked ? [...others.slice(-1), service] : others });
}
