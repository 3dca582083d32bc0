/* Puts two picked services side by side: verdicts in words, all their figures, what they have in common. */

const LABELS = new Map(DATA.rankings.flatMap(({ services, labels }) => services.map((name, at) => [name, labels[at]])));
const nameOf = (service) => LABELS.get(service) ?? service;

/** The checkbox that picks a service. */
function pickBox(service, name = nameOf(service)) {
  return make("input", {
    type: "checkbox",
    class: "pick",
    value: service,
    title: "Pick two to see them side by side",
    "aria-label": `Compare ${name}`,
    checked: Boolean(state.pick?.includes(service)),
    onchange: (event) => pick(service, event.target.checked),
  });
}

function toPair() {
  const section = document.getElementById("pair");
  section.scrollIntoView();
  section.focus({ preventScroll: true });
}

function pair() {
  const section = document.getElementById("pair");
  const show = async () => {
    const known = (state.pick ?? []).filter((name) => DATA.services[name]);
    section.hidden = known.length !== 2;
    if (section.hidden) return;
    await loadPairs();
    section.replaceChildren(...pairParts(...known));
  };
  show();
  onChange((keys) => {
    if (keys.includes("pick")) show();
  });
}

function pairParts(a, b) {
  const verdicts = JUDGED.flatMap((ranking) => {
    const [one, other] = [a, b].map((name) => ranking.services.indexOf(name));
    if (one < 0 || other < 0) return [];
    const load = JUDGED.length > 1 ? `${ranking.scenario}, ${ranking.tool}, ${levelText(ranking.level)}: ` : "";
    const words = pairOf(ranking, one, other)?.words;
    return [load + (words ? `${words}.` : said("none"))];
  });
  if (!verdicts.length) verdicts.push(said("alone"));
  const [one, other] = [a, b].map(nameOf);
  const title = `${one} and ${other}, side by side`;
  const columns = [["measured"], [one], [other]];
  return [
    make("h2", {}, title),
    listOf(verdicts),
    ...pairFigures(a, b).map(([load, rows]) => tableOf(load, columns, rows, true)),
    listOf(pairFacts(a, b)),
  ];
}

const listOf = (texts) => make("ul", { class: "findings" }, ...texts.map((text) => make("li", {}, text)));

const PAIR_FIGURES = [
  ["requests/s", "goodput", (cell) => number(cell.goodput) + (cell.low === null ? "" : ` (${intervalText(cell)})`)],
  ["p50", "p50_s", (cell) => milliseconds(cell.p50_s)],
  ["p99", "p99_s", (cell) => milliseconds(cell.p99_s)],
  ["CPU per request", "cpu_s", (cell) => milliseconds(cell.cpu_s)],
  ["memory under load", "memory_bytes", (cell) => megabytes(cell.memory_bytes)],
];

/** For each load, a row for each figure that either of them has. */
function pairFigures(a, b) {
  const own = (service) => new Map(ALONE.filter((cell) => cell.service === service).map((cell) => [cell.load, cell]));
  const [ofA, ofB] = [own(a), own(b)];
  return [...new Set([...ofA.keys(), ...ofB.keys()])].sort(natural).map((load) => {
    const both = [ofA.get(load), ofB.get(load)];
    const figures = PAIR_FIGURES.filter(([, key]) => both.some((cell) => cell?.valid && cell[key] != null));
    const write = (cell, key, text) => {
      if (!cell) return "not measured";
      if (!cell.valid) return cell.state || "not valid";
      return cell[key] === null ? NOTHING : text(cell);
    };
    const rows = figures.map(([title, key, text]) => [title, ...both.map((cell) => write(cell, key, text))]);
    return [loadText(both[0] ?? both[1]), rows];
  });
}

/** What the two have in common, and the packages that only one of them has (in this version). */
function pairFacts(a, b) {
  const [one, other] = [DATA.services[a], DATA.services[b]];
  const facts = (service) => [service.python_build, service.base_made].filter(Boolean).join("; ");
  const only = (own, others) => (own.packages ?? []).filter((name) => !others.packages?.includes(name)).join(", ");
  const told =
    facts(one) === facts(other)
      ? [["Both", facts(one)]]
      : [
          [nameOf(a), facts(one)],
          [nameOf(b), facts(other)],
        ];
  for (const [name, { command }] of [
    [a, one],
    [b, other],
  ])
    told.push([`Start command of ${nameOf(name)}`, command]);
  told.push([`Only ${nameOf(a)}`, only(one, other)], [`Only ${nameOf(b)}`, only(other, one)]);
  return told.filter(([, text]) => text).map(([who, text]) => `${who}: ${text}`);
}
