/* Applies the filters to the rankings. Ranks, tiers and differences are those of the whole table: rows are left out. */

/** As many rows as this are shown at once, when filters leave others out: MOST_ROWS of rankings.py. */
const SHOWN_AT_ONCE = 32;

function rankings() {
  const found = DATA.rankings.map((ranking, index) => {
    const figure = document.getElementById(`ranking-${index + 1}`);
    for (const place of figure.querySelectorAll(".place, .unranked li")) {
      const name = place.querySelector(".name");
      const { textContent: text } = name;
      const { service } = place.dataset;
      const open = () => openRow(`${service} ${rankedLoad(ranking)}`);
      const card = make(
        "button",
        { type: "button", class: "card", title: "What it is, and its rounds", onclick: open },
        text,
      );
      name.replaceChildren(pickBox(service, text), card);
    }
    return rankingParts(ranking, figure);
  });
  const filter = () => {
    const cells = new Set(CELLS.filter(passesFilters).map((cell) => cell.id));
    for (const one of found) filterRanking(one, cells);
    if (found.length && isFiltered() && !pairs) loadPairs().then(() => pairs && found.forEach(tellThese));
  };
  const showPicks = () => {
    for (const box of document.querySelectorAll("#answers .pick"))
      box.checked = Boolean(state.pick?.includes(box.value));
  };
  if (isFiltered()) filter();
  onChange((keys) => {
    if (isSelection(keys)) filter();
    if (keys.includes("pick")) showPicks();
  });
}

function rankingParts(ranking, figure) {
  const answer = document.getElementById(`answer-${figure.id.split("-")[1]}`);
  const whole = answer.querySelector(".whole");
  const these = make("ul", { class: "findings", "aria-live": "polite" });
  const fold = make("details", {}, make("summary", {}, `Findings on all ${ranking.services.length} services`));
  these.hidden = true;
  whole.after(these);
  const later = figure.querySelector(".later");
  const places = [...figure.querySelectorAll("[data-service]")];
  return {
    ranking,
    answer,
    figure,
    whole,
    these,
    fold,
    places: places.map((place) => [place, place.dataset.service]),
    tiers: [...figure.querySelectorAll(".tier")],
    unranked: figure.querySelector(".not-ranked"),
    later,
    laterText: later?.firstElementChild.textContent,
    load: rankedLoad(ranking),
    left: ranking.services.map((_, place) => place),
  };
}

function filterRanking(one, cells) {
  const { ranking, figure, answer, later, places, load } = one;
  const passes = (service) => cells.has(`${service} ${load}`);
  for (const [place, service] of places) place.hidden = !passes(service);
  const some = (element) => element.querySelector("[data-service]:not([hidden])") !== null;
  for (const tier of one.tiers) tier.hidden = !some(tier);
  if (one.unranked) one.unranked.hidden = !some(one.unranked);
  one.left = ranking.services.map((_, place) => place).filter((place) => passes(ranking.services[place]));
  for (const part of [figure, answer]) part.hidden = !one.left.length;
  if (later) {
    const inside = later.querySelectorAll(".place:not([hidden])").length;
    later.hidden = !inside;
    const less = one.left.length < ranking.services.length;
    later.open = less && one.left.length <= SHOWN_AT_ONCE;
    later.firstElementChild.textContent = less ? `${inside} in later tiers` : one.laterText;
  }
  tellThese(one);
}

/** Says of the services that are left which is best and which is last; what is said of all of them folds away. */
function tellThese(one) {
  const { ranking, whole, these, fold, left } = one;
  const all = ranking.services.length;
  const less = left.length < all;
  these.hidden = !less;
  if (less) {
    if (whole.parentNode !== fold) {
      these.after(fold);
      fold.append(whole);
    }
    const sentences = [
      `${left.length} of ${plural(all, "service")} shown. Tiers and differences are those of the whole table.`,
      ...orderWords(ranking, left),
    ];
    these.replaceChildren(...sentences.map((text) => make("li", {}, text)));
  } else if (whole.parentNode === fold) {
    these.before(whole);
    fold.remove();
  }
}

/** Which of these places of a ranking is best, what is tied with it, and which is last. */
function orderWords(ranking, places) {
  const ranked = places.filter((place) => place < ranking.ranked);
  if (!pairs || ranked.length < 2) return [];
  const [best, ...rest] = ranked;
  const last = ranked[ranked.length - 1];
  const name = (place) => ranking.labels[place];
  const tied = rest.filter((place) => pairOf(ranking, best, place)?.verdict !== "c").map(name);
  const words = pairWords(ranking, best, last);
  if (rest.length === 1 || tied.length === rest.length) return words ? [words] : [];
  const first = tied.length
    ? `Of these, ${name(best)} leads, tied with ${tied.length > 4 ? `${tied.slice(0, 4).join(", ")} and ${tied.length - 4} more` : tied.join(", ")}.`
    : `Of these, ${name(best)} is best.`;
  return [first, ...(words ? [`Last is ${name(last)}: ${words}`] : [])];
}

const A_FACTOR = 2; // FACTOR of changes.py

/** 4.1 %, and from ten on without a decimal: size of bench/core/formats.py. */
function percent(part) {
  const digits = Math.abs(part) < 0.0995 ? 1 : 0;
  return (100 * part).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The verdict on two places of a ranking in words, as bench/words/changes.py says it; empty where there is none. */
function pairWords(ranking, one, other) {
  const found = pairOf(ranking, one, other);
  if (!found) return "";
  const names = [Math.min(one, other), Math.max(one, other)].map((place) => ranking.labels[place]);
  if (found.verdict !== "c") return tiedWords(found, names);
  const turned = found.ratio < 1;
  const { ratio, low, high } = turned ? inverse(found) : found;
  const [better, worse] = turned ? names.reverse() : names;
  const cpu = ranking.metric === "CPU per request";
  const [begins, ends] = cpu ? [worse, better] : [better, worse];
  const [verb, much, what] = cpu ? ["needs", "much", "CPU per request"] : ["served", "many", "requests per second"];
  const digits = ratio >= 9.95 ? 0 : 1;
  const factor = ratio >= A_FACTOR;
  const write = (value) => (factor ? value.toFixed(digits) : percent(value - 1));
  const size = factor ? `${write(ratio)} times as ${much} ${what} as` : `${write(ratio)} % more ${what} than`;
  const span = low === null || high === null ? "" : ` (${write(low)} to ${write(high)}${factor ? "" : " %"})`;
  return `${begins} ${verb} ${size} ${ends}${span}.`;
}

const inverse = ({ ratio, low, high }) => ({ ratio: 1 / ratio, low: high && 1 / high, high: low && 1 / low });

/** That two services are tied, or have too little data to say, and how far apart they may be. */
function tiedWords({ verdict, low, high }, [first, second]) {
  const most = low === null || high === null ? null : percent(Math.max(Math.abs(low - 1), Math.abs(high - 1)));
  if (verdict === "?") {
    const apart = most === null ? "" : `: they may be up to ${most} % apart`;
    return `Whether ${first} or ${second} is faster is open${apart}.`;
  }
  return `${first} and ${second} are tied${most === null ? "" : ` (at most ${most} % apart)`}.`;
}
