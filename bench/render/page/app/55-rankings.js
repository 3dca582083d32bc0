/* The tables of the rankings: rows are filtered and sorted, and compared with the best shown or with a picked one. */

/** A table with more rows that pass the filters shows the first ones: MOST_ROWS and FIRST_ROWS of rankings.py. */
const SHOWN_AT_ONCE = 32;
const SHOWN_FIRST = 20;

function rankings() {
  const tables = DATA.rankings.map(rankingParts);
  const show = () => {
    const cells = isFiltered() ? new Set(CELLS.filter(passesFilters).map((cell) => cell.id)) : null;
    for (const table of tables) showRanking(table, cells);
    if ((cells || state.pick) && tables.length && !pairs) loadPairs().then(() => pairs && show());
  };
  if (state.order) for (const table of tables) orderRows(table);
  show();
  onChange((keys) => {
    if (keys.includes("order")) for (const table of tables) orderRows(table);
    if (isSelection(keys) || keys.includes("pick")) show();
    else if (keys.includes("order")) for (const table of tables) showRows(table);
  });
}

/** A ranking's table with its rows by place: `left` are the places that pass the filters. */
function rankingParts(ranking, index) {
  const figure = document.getElementById(`ranking-${index + 1}`);
  const element = figure.querySelector("table.bars");
  const answer = document.getElementById(`answer-${index + 1}`);
  const rows = [...element.tBodies[0].rows];
  const heads = [...element.tHead.rows[0].cells];
  const table = {
    ranking,
    figure,
    answer,
    element,
    rows,
    heads,
    title: element.caption.textContent,
    body: element.tBodies[0],
    places: new Map(rows.map((row, place) => [row, place])),
    against: heads.findIndex((head) => head.classList.contains("against")),
    notes: [...figure.querySelectorAll(".footnotes > li")],
    knobs: [...figure.querySelectorAll(".knob")],
    load: rankedLoad(ranking),
    whole: answer.querySelector(".whole"),
    these: make("ul", { class: "findings", "aria-live": "polite", hidden: true }),
    fold: make("details", {}, make("summary", {}, `Findings on all ${rows.length} services`)),
  };
  table.more = make("button", { type: "button", onclick: () => showRows(Object.assign(table, { open: true })) });
  element.parentNode.after(table.more);
  table.whole.after(table.these);
  for (const [column, head] of heads.entries()) {
    if (column === table.against) continue;
    const name = slug(head.textContent);
    makeSortable(table, head, column, (down) => change({ order: `${down ? "-" : ""}${name}` }));
  }
  figure.querySelector("figcaption").append(" Click a name to compare with it.");
  return table;
}

/** Sorts by the column that the address names: all rankings have the same ones. */
function orderRows(table) {
  const [, down, name] = /^(-?)(.*)$/.exec(state.order ?? "");
  const column = table.heads.findIndex((head) => slug(head.textContent) === name);
  if (column >= 0) return sortRows(table, column, Boolean(down));
  for (const head of table.heads) head.removeAttribute("aria-sort");
  table.body.append(...table.rows);
}

function showRanking(table, cells) {
  const passes = (service) => !cells || cells.has(`${service} ${table.load}`);
  table.left = table.ranking.services.flatMap((service, place) => (passes(service) ? [place] : []));
  for (const part of [table.figure, table.answer]) part.hidden = !table.left.length;
  for (const knob of table.knobs) knob.hidden = !passes(knob.dataset.service);
  if (!table.left.length) return;
  showRows(table);
  compareRows(table);
  tellThese(table);
}

/** Shows rows in the order of the table, with what only they need. */
function showRows(table) {
  const left = new Set(table.left);
  const most = table.open || left.size <= SHOWN_AT_ONCE ? left.size : SHOWN_FIRST;
  const notes = new Set();
  let shown = 0;
  for (const row of [...table.body.rows]) {
    const hidden = shown === most || !left.has(table.places.get(row));
    if (row.hidden !== hidden) row.hidden = hidden;
    if (hidden) continue;
    shown += 1;
    addControls(row);
    notes.add(row.dataset.note);
  }
  for (const note of table.notes) note.hidden = !notes.has(String(note.value));
  table.more.hidden = shown === left.size;
  table.more.textContent = `Show ${plural(left.size - shown, "other service")}`;
}

/** A checkbox that picks the row's service, and its name as a button that compares the others with it; once. */
function addControls(row) {
  const name = row.querySelector(".name");
  const { service } = row.dataset;
  if (!name.childElementCount) {
    const text = name.textContent;
    const compare = () => change({ pick: state.pick?.length === 1 && state.pick[0] === service ? [] : [service] });
    const button = make("button", { type: "button", title: "Compare the others with this", onclick: compare }, text);
    name.replaceChildren(pickBox(service, text), button);
  }
  name.firstChild.checked = Boolean(state.pick?.includes(service));
  name.lastChild.setAttribute("aria-pressed", String(state.pick?.[0] === service));
}

/** Compares rows with the picked one, else with the best shown: by the verdicts, and by bars that have its mark. */
function compareRows(table) {
  const { ranking, left, rows, against } = table;
  const picked = ranking.services.indexOf(state.pick?.[0]);
  const isPicked = picked >= 0 && picked < ranking.ranked;
  const base = isPicked ? picked : left[0];
  const isAsWritten = !isPicked && left.length === rows.length && !table.words;
  if (isAsWritten || against < 0 || base >= ranking.ranked || (base && !pairs)) return;
  scaleBars(table, base);
  table.words ??= rows.map((row) => row.cells[against].textContent);
  const words = [...table.words];
  let name = "the best";
  if (base) {
    words.splice(0, ranking.ranked, ...pairs[DATA.rankings.indexOf(ranking)].against[base].split("\n"));
    [name, words[base]] = ["the best shown", "best shown"];
  }
  if (isPicked) [name, words[base]] = [ranking.labels[base], "picked"];
  table.heads[against].textContent = filled(ranking.against, [name]);
  for (const place of left) {
    const cell = rows[place].cells[against];
    if (cell.textContent !== words[place]) cell.firstChild.textContent = words[place];
    rows[place].classList.toggle("base", place === base && name !== "the best");
  }
}

/** Bars are divided by the largest figure shown, by the style: --m; --b marks the row that others are compared with. */
function scaleBars({ element, rows, heads, left }, base) {
  const figure = (place, column, name) => Number(rows[place].cells[column].style.getPropertyValue(name));
  for (const [column, head] of heads.entries()) {
    if (!head.classList.contains("scaled")) continue;
    element.style.setProperty(`--m${column}`, Math.max(...left.map((place) => figure(place, column, "--h"))) || 1);
    element.style.setProperty(`--b${column}`, figure(base, column, "--v") || -1);
  }
}

/** Says which of the remaining services is best and which is last; the findings on all services are folded. */
function tellThese({ ranking, whole, these, fold, left }) {
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
