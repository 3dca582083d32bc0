/* Draws the ranking by goodput: a row per service with its mean and interval, next to the null server. */

const MOST_ROWS = 60;

chart(
  "ranked",
  "Goodput ranking",
  "Successful responses per second: the mean over all rounds with its 95 % confidence interval. Services without a valid result are listed at the bottom with the cause, and are not ranked.",
  (width) => {
    const { cells, first } = chartedCells();
    if (!first) return { missing: NO_SOLO };
    if (first.open) return { missing: OPEN_LOOP };
    if (first.mode === "turns") return { missing: RANKED };
    const label = labelsOf(cells);
    const ranked = cells.filter((cell) => cell.valid);
    const invalid = cells.filter((cell) => !cell.valid);
    const shown = rowsToShow(ranked, invalid);
    const layout = rankedLayout(width, shown, ranked, label);
    const drawing = Plot.plot({
      width,
      height: layout.marginTop + shown.length * layout.row + 8,
      marginLeft: layout.marginLeft,
      marginRight: layout.marginRight,
      marginTop: layout.marginTop,
      marginBottom: 8,
      style: STYLE,
      x: {
        domain: [0, layout.top],
        axis: ranked.length ? "top" : null,
        label: "requests/s",
        labelArrow: "none",
        ticks: layout.narrow ? 4 : 7,
        tickFormat: tick,
        tickSize: 0,
        nice: false,
      },
      y: {
        type: "band",
        domain: shown.map((cell) => cell.index),
        axis: layout.narrow ? null : "left",
        tickFormat: (index) => clip(layout.names.get(index), layout.marginLeft - 12),
        tickSize: 0,
        label: null,
        padding: 0,
      },
      marks: [
        ...rankedBackground(layout, ranked),
        ...rankedMarks(layout, shown, label),
        ...invalidMarks(layout, shown),
        ...(layout.narrow ? [narrowNames(layout, shown)] : []),
      ],
    });
    return {
      drawing,
      notes: rankedNotes(cells, ranked, shown),
      alt: rankedAlt(first, ranked, invalid, label),
      columns: [["service"], ["requests/s", true], ["95 % interval", true], ["valid rounds", true], ["why not valid"]],
      rows: cells.map((cell) => [
        label(cell),
        number(cell.goodput),
        intervalText(cell),
        `${cell.valid} of ${cell.rounds}`,
        cell.valid ? NOTHING : cell.state,
      ]),
    };
  },
  { modes: ["solo"] },
);

/** At most MOST_ROWS cells, with room for some invalid ones. */
function rowsToShow(ranked, invalid) {
  const room = Math.max(MOST_ROWS - Math.min(invalid.length, MOST_ROWS / 6), MOST_ROWS / 3);
  return [...ranked.slice(0, room), ...invalid.slice(0, MOST_ROWS - Math.min(ranked.length, room))];
}

/** Sizes and scale of the chart. `near`: the null server's rate fits on the scale. */
function rankedLayout(width, shown, ranked, label) {
  const narrow = width < NARROW;
  const names = new Map(shown.map((cell) => [cell.index, label(cell)]));
  const incomplete = (cell) => (cell.valid < cell.rounds ? ` †${cell.valid}/${cell.rounds}` : "");
  const values = shown.map((cell) => (cell.valid ? number(cell.goodput) + incomplete(cell) : ""));
  const best = ranked[0]?.goodput ?? 1;
  // Without a valid result there is no scale, and nothing to place on it.
  const ceiling = ranked.length ? shown[0].ceiling : null;
  const near = Boolean(ceiling) && ceiling < 1.5 * best;
  const highs = ranked.map((cell) => Math.min(cell.high ?? 0, best * 1.35));
  return {
    width,
    narrow,
    names,
    values,
    best,
    ceiling,
    near,
    top: Math.max(best * 1.06, near ? ceiling * 1.04 : 0, ...highs),
    marginTop: ceiling ? 48 : 30,
    marginLeft: narrow ? 8 : Math.min(width * 0.34, widest([...names.values()], 13) + 14),
    marginRight: Math.max(72, widest(values) + 14),
    row: narrow ? 40 : 24,
  };
}

/** Grid, and the null server's rate. */
function rankedBackground({ best, ceiling, near, top, narrow }, ranked) {
  const marks = [hatch("hatch-ranked")];
  if (!ranked.length) return marks;
  marks.push(Plot.gridX({ stroke: "var(--line)", strokeOpacity: 1 }));
  if (!ceiling) return marks;
  const beyond = narrow ? " ▸" : `, ${(ceiling / best).toFixed(1)} × the best, off this scale ▸`;
  marks.push(
    Plot.ruleX([near ? ceiling : top], { stroke: INK, strokeDasharray: near ? "5 3" : "2 4" }),
    Plot.text([near ? ceiling : top], {
      frameAnchor: "top",
      x: (d) => d,
      dy: -32,
      textAnchor: "end",
      dx: 4,
      text: () => `null server ${rate(ceiling)}${near ? "" : beyond}`,
      fill: INK,
    }),
  );
  return marks;
}

/** Mean, interval and figure of every service with a valid result. */
function rankedMarks({ top, values }, shown, label) {
  const y = "index";
  const valid = shown.filter((cell) => cell.valid);
  const intervals = valid.filter((cell) => cell.low !== null);
  const title = (cell) => {
    const interval = cell.low === null ? "" : `, 95 % interval ${intervalText(cell)}`;
    return `${label(cell)}: ${rate(cell.goodput)}${interval}, ${roundsText(cell)}`;
  };
  return [
    Plot.ruleY(intervals, {
      y,
      x1: "low",
      x2: (cell) => Math.min(cell.high, top),
      stroke: "var(--s1)",
      strokeWidth: 5,
      strokeOpacity: 0.38,
      strokeLinecap: "butt",
    }),
    Plot.dot(valid, { y, x: "goodput", r: 4.5, fill: "var(--s1)", stroke: "var(--paper)", title }),
    Plot.text(
      intervals.filter((cell) => cell.high > top),
      { y, x: top, text: () => "▸", fill: "var(--s1)", dx: 3 },
    ),
    Plot.text(shown, {
      y,
      frameAnchor: "right",
      textAnchor: "start",
      dx: 10,
      text: (_, i) => values[i],
      fill: INK,
      fontVariant: "tabular-nums",
    }),
  ];
}

/** A hatched row with the cause for every service without a valid result. */
function invalidMarks({ width, narrow, top, marginLeft, marginRight }, shown) {
  const invalid = shown.filter((cell) => !cell.valid);
  if (!invalid.length) return [];
  return [
    Plot.rect(invalid, {
      y: "index",
      x1: 0,
      x2: top,
      fill: "url(#hatch-ranked)",
      inset: narrow ? 2 : 5,
      insetTop: narrow ? 18 : 5,
      fillOpacity: 0.45,
    }),
    Plot.text(invalid, {
      y: "index",
      x: 0,
      dx: 6,
      dy: narrow ? 9 : 0,
      textAnchor: "start",
      fill: INK,
      stroke: "var(--paper)",
      strokeWidth: 5,
      text: (cell) => clip(`✕ ${cell.state}`, (width - marginLeft - marginRight) * 0.95),
    }),
  ];
}

const narrowNames = ({ width, marginRight, names }, shown) =>
  Plot.text(shown, {
    y: "index",
    frameAnchor: "left",
    textAnchor: "start",
    dy: -11,
    text: (cell) => clip(names.get(cell.index), width - marginRight),
    fill: INK,
  });

function rankedNotes(cells, ranked, shown) {
  const [first] = cells;
  const notes = [`Shown: ${loadText(first)}.`];
  if (ranked.length && ranked.every((cell) => cell.low === null))
    notes.push("No intervals: an interval needs at least two valid rounds with different results.");
  if (first.rate !== null)
    notes.push(
      `Services that reach the target rate of ${rate(first.rate)} are held there, so the chart shows no difference between them.`,
    );
  if (!ranked.length) notes.push("No measurement under this load is valid, so there is no ranking and no scale.");
  if (!first.ceiling) notes.push(`No ceiling: the null server has no valid result with ${first.tool} in this run.`);
  else
    notes.push(
      `The null server sends a static response. Its ${rate(first.ceiling)} is the most that ${first.tool} can measure here.`,
    );
  if (shown.length < cells.length)
    notes.push(
      `${cells.length - shown.length} of ${cells.length} services are only in the table below; use the filters to chart them.`,
    );
  return notes;
}

function rankedAlt(first, ranked, invalid, label) {
  const best = ranked.slice(0, 5).map((cell, i) => `${i + 1}. ${label(cell)} ${rate(cell.goodput)}`);
  const causes = invalid.slice(0, 5).map((cell) => `${label(cell)}, ${cell.state}`);
  return [
    loadText(first),
    `${ranked.length} ranked${best.length ? `: ${best.join("; ")}` : ""}`,
    `${invalid.length} not valid${causes.length ? `: ${causes.join("; ")}` : ""}`,
    "",
  ]
    .join(". ")
    .trim();
}
