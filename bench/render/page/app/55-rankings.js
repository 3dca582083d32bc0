/* Applies the filters to the rankings. They only hide rows: ranks, tiers and differences stay those of the whole table. */

/** If filters leave at most this many rows, the later tiers open: MOST_ROWS of rankings.py. */
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

/** Says which of the remaining services is best and which is last; the findings on all services are folded. */
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
    const sentences = [said("shown", { left: left.length, all: plural(all, "service") }), ...orderWords(ranking, left)];
    these.replaceChildren(...sentences.map((text) => make("li", {}, text)));
  } else if (whole.parentNode === fold) {
    these.before(whole);
    fold.remove();
  }
}

/** Which of these places of a ranking is best, what may be, too, and which is last. */
function orderWords(ranking, places) {
  const all = places.filter((place) => place < ranking.ranked);
  // Figures with a known cause lead no sentence.
  const caused = ({ development, stall } = {}) => development || stall;
  const usual = all.filter((place) => !caused(DATA.services[ranking.services[place]]));
  const ranked = usual.length > 1 ? usual : all;
  if (!pairs || ranked.length < 2) return [];
  const [best, ...rest] = ranked;
  const last = ranked[ranked.length - 1];
  const name = (place) => ranking.labels[place];
  const apart = rest.findIndex((place) => pairOf(ranking, best, place)?.open === false);
  const open = (apart < 0 ? rest : rest.slice(0, apart)).map(name);
  const pair = pairOf(ranking, best, last)?.words;
  if (rest.length === 1 || open.length === rest.length) return pair ? [`${pair}.`] : [];
  const others = open.length > 4 ? `${open.slice(0, 4).join(", ")} and ${open.length - 4} more` : open.join(", ");
  const first = said(open.length ? "open" : "best", { best: name(best), others });
  return [first, ...(pair ? [said("last", { last: name(last), pair })] : [])];
}
