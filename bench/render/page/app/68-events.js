/* The heat map of events: filters; a cell opens to what happened to its requests in each round, and to its timeline. */

const EVENT_HEIGHT = 150;
/** An action that takes longer is a band in the timeline, such as the replacement of a container. */
const LASTS_S = 0.3;

/** `reload, keep-alive` as `reload-keep-alive`, the name that `--event` has for it. */
const slug = (text) =>
  text
    .toLowerCase()
    .match(/[a-z0-9]+/g)
    ?.join("-");

function events() {
  const table = document.querySelector("table.heat");
  if (!table) return;
  const buttons = [...table.querySelectorAll("td[data-part]")].map((cell) => {
    const heads = [cell.parentNode.cells[0], table.tHead.rows[0].cells[cell.cellIndex]];
    const [event, on] = (cell.dataset.question ? heads.reverse() : heads).map((head) => slug(head.textContent));
    const button = make("button", {
      type: "button",
      "aria-controls": "event",
      "aria-label": cell.dataset.words,
      title: cell.dataset.words,
      "data-event": event,
      "data-on": on,
    });
    button.append(...cell.childNodes);
    cell.append(button);
    const isOpen = () => button.ariaExpanded === "true";
    button.addEventListener("click", () => change(isOpen() ? { event: "", on: "" } : { event, on }));
    return button;
  });
  table.addEventListener("keydown", (event) => moveFocus(event, table, buttons));
  const showFilters = heatFilters(table);
  const show = (keys) => {
    if (keys.some((key) => OF_EVENTS.includes(key))) {
      showFilters();
      const first = buttons.find((button) => button.offsetParent);
      stopAt(first, buttons);
    }
    if (keys.includes("event")) openEvent(buttons);
  };
  show(KEYS);
  onChange(show);
}

/** The choices of servers and questions above the heat map; gives a function that shows what is chosen. */
function heatFilters(table) {
  const filtered = OF_EVENTS.map((key) => {
    const parts = [...table.querySelectorAll(`[data-${key}]`)];
    return { key, parts, values: [...new Set(parts.map((part) => part.dataset[key]))] };
  }).filter(({ values }) => values.length > 1);
  const filters = filtered.map(({ key, values }) => choices(key, values));
  const all = make("button", { type: "button", onclick: () => change({ service: [], question: [] }) }, "Show all");
  const bar = make("div", { class: "bar" }, ...filters.map(({ element }) => element), all);
  table.closest(".events-box").before(bar);
  closeElsewhere(bar);
  return () => {
    for (const { show } of filters) show();
    for (const { key, parts } of filtered)
      for (const part of parts) part.hidden = Boolean(state[key]) && !state[key].includes(part.dataset[key]);
    all.hidden = !OF_EVENTS.some((key) => state[key]);
  };
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function moveFocus(event, table, buttons) {
  const step = STEPS[event.key];
  if (!step || event.target.tagName !== "BUTTON") return;
  event.preventDefault();
  const rows = [...table.rows].filter((row) => row.offsetParent && row.querySelector("button"));
  const shown = (row) => [...(row?.cells ?? [])].filter((cell) => !cell.hidden);
  const row = event.target.closest("tr");
  const column = shown(row).indexOf(event.target.parentNode) + step[1];
  const next = shown(rows[rows.indexOf(row) + step[0]])[column]?.querySelector("button");
  if (!next) return;
  stopAt(next, buttons);
  next.focus();
}

/** The tab key stops at one button of the heat map; arrows lead from cell to cell. */
function stopAt(stop, buttons) {
  for (const button of buttons) button.tabIndex = button === stop ? 0 : -1;
}

/** Opens the cell that the address names; closes the others. */
async function openEvent(buttons) {
  const panel = document.getElementById("event");
  const wanted = buttons.find(({ dataset }) => dataset.event === state.event && dataset.on === state.on);
  for (const button of buttons) button.ariaExpanded = String(button === wanted);
  panel.hidden = !wanted;
  if (!wanted) return;
  const { part } = wanted.parentNode.dataset;
  const found = visible(await inflate(document.getElementsByClassName("event-part")[part].textContent));
  showEvent(panel, found, found.worst);
  panel.scrollIntoView({ block: "nearest" });
  panel.focus({ preventScroll: true });
  announce(found.title);
}

function showEvent(panel, found, chosen) {
  const one = found.rounds[chosen];
  const choice = make(
    "select",
    { "aria-label": "Round", onchange: (event) => showEvent(panel, found, Number(event.target.value)) },
    ...found.rounds.map(({ round }, place) =>
      make(
        "option",
        { value: place, selected: place === chosen },
        `round ${round}${place === found.worst ? " (worst)" : ""}`,
      ),
    ),
  );
  const facts = make("dl", { class: "facts" });
  for (const [name, value] of one.words) facts.append(make("dt", {}, name), make("dd", {}, value));
  const said = [...found.against, ...found.documented.map((text) => `Its documentation: ${text}`)];
  if (found.reason) said.unshift(`Not counted: ${found.reason}`);
  said.unshift(found.words);
  panel.replaceChildren(
    make("h3", {}, found.title),
    ...said.map((text) => make("p", { class: "note" }, text)),
    make("div", { class: "bar" }, found.rounds.length > 1 ? choice : null),
    ...(one.points.length ? [eventGrowth(one, panel)] : []),
    ...(one.at.length || !one.points.length ? [eventTimeline(one, panel)] : []),
    facts,
  );
}

/** Good and failed requests in each tenth of a second, their p99 below, and a line for each action. */
function eventTimeline(one, panel) {
  if (!one.at.length) return make("p", { class: "left-out" }, "Not shown: there is no timeline of this round.");
  const width = Math.max(280, panel.clientWidth - 32);
  const step = one.at.length > 1 ? one.at[1] - one.at[0] : 0.1;
  const bins = one.at.map((at, place) => ({
    at,
    good: one.good[place],
    failed: one.failed[place],
    p99: one.p99[place] === null ? null : one.p99[place] * 1000,
  }));
  const end = one.at[one.at.length - 1] + step;
  const x = {
    domain: [0, end],
    label: "seconds since the first request",
    labelArrow: "none",
    ticks: width < NARROW ? 5 : 10,
  };
  const common = { width, marginLeft: 56, marginRight: 12, style: STYLE };
  const lasting = one.actions.filter(([, , took]) => took >= LASTS_S);
  const lines = () => [
    Plot.rectX(lasting, { x1: "0", x2: ([at, , took]) => at + took, fill: INK, fillOpacity: 0.07 }),
    Plot.ruleX(one.actions, { x: "0", stroke: INK, strokeDasharray: "3 3" }),
  ];
  const most = d3.max(bins, (bin) => bin.good + bin.failed) || 1;
  const counts = Plot.plot({
    ...common,
    height: EVENT_HEIGHT,
    marginTop: 22,
    marginBottom: 12,
    x: { ...x, label: null, tickFormat: () => "" },
    y: { domain: [0, most], label: null, ticks: 4, grid: true, tickSize: 0 },
    marks: [
      Plot.rect(bins, {
        x1: "at",
        x2: (bin) => bin.at + step,
        y1: 0,
        y2: "good",
        fill: "var(--s1)",
        fillOpacity: 0.55,
      }),
      Plot.rect(
        bins.filter((bin) => bin.failed),
        { x1: "at", x2: (bin) => bin.at + step, y1: "good", y2: (bin) => bin.good + bin.failed, fill: "var(--bad)" },
      ),
      lines(),
      Plot.ruleY([0], { stroke: SOFT }),
    ],
  });
  const latency = Plot.plot({
    ...common,
    height: EVENT_HEIGHT - 10,
    marginTop: 8,
    marginBottom: 38,
    x,
    y: { zero: true, label: null, ticks: 3, grid: true, tickSize: 0, tickFormat: (value) => `${tick(value)} ms` },
    marks: [
      Plot.line(bins, { x: (bin) => bin.at + step / 2, y: "p99", stroke: "var(--s3)", strokeWidth: 1.5 }),
      lines(),
      Plot.ruleY([0], { stroke: SOFT }),
    ],
  });
  const drawing = make(
    "div",
    { class: "stack plot", role: "img", "aria-label": eventWords(one, bins) },
    make("h4", {}, "Requests in each tenth of a second: good (blue), failed (red)"),
    counts,
    make("h4", {}, "p99 of the good ones, from when they were due"),
    latency,
  );
  removeMarkLabels(drawing);
  const figure = make("figure", {}, drawing);
  const done = one.actions.map(
    ([at, what, took]) => `at ${number(at)} s ${what}${took >= LASTS_S ? ` (takes ${number(took)} s)` : ""}`,
  );
  if (done.length) figure.append(make("p", { class: "note" }, `Lines: ${done.join("; ")}.`));
  return figure;
}

/** Memory by the number of requests, or open file descriptors by the number of reloads. */
function eventGrowth(one, panel) {
  const [held, done] = one.reloads ? ["open file descriptors", "reloads"] : ["memory in MB", "requests answered"];
  const points = one.points.map(([at, size]) => ({ at, held: one.reloads ? size : size / 1e6 }));
  const last = points[points.length - 1];
  const words = `${held} by ${done}: from ${number(points[0].held)} to ${number(last.held)}`;
  const plot = Plot.plot({
    width: Math.max(280, panel.clientWidth - 32),
    marginLeft: 56,
    marginRight: 12,
    style: STYLE,
    height: EVENT_HEIGHT + 40,
    marginTop: 22,
    marginBottom: 38,
    x: { label: done, labelArrow: "none", ticks: 5 },
    y: { zero: true, nice: true, label: null, ticks: 4, grid: true, tickSize: 0 },
    marks: [
      Plot.line(points, { x: "at", y: "held", stroke: "var(--s1)", strokeWidth: 1.5 }),
      Plot.dot(points, { x: "at", y: "held", fill: "var(--s1)", r: 3 }),
      Plot.ruleY([0], { stroke: SOFT }),
    ],
  });
  const drawing = make("div", { class: "stack plot", role: "img", "aria-label": `Round ${one.round}, ${words}.` });
  drawing.append(make("h4", {}, `${held[0].toUpperCase()}${held.slice(1)} by ${done}`), plot);
  removeMarkLabels(drawing);
  return make("figure", {}, drawing);
}

function eventWords(one, bins) {
  const failed = bins.filter((bin) => bin.failed);
  const done = one.actions.map(([at, what]) => `${what} at ${number(at)} s`).join(", ");
  const lost = d3.sum(failed, (bin) => bin.failed);
  const when = failed.length
    ? `${plural(lost, "failed request")} from ${number(failed[0].at)} to ${number(failed[failed.length - 1].at)} s`
    : "no failed request";
  return `Timeline of round ${one.round}: ${when}${done ? `; ${done}` : ""}.`;
}
