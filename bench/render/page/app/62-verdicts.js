/* Draws the verdict on every pair: the difference between its two services with the interval of the verdict. */

chart(
  "verdicts",
  "Verdicts by pair",
  "How many more successful responses one service of a pair gives than the other, per CPU second or per second, with the verdict's interval. Right of 0 the first service gives more, left of 0 the second one. The confidence level covers all verdicts of a table together.",
  (width) => {
    // As in the rest of the report: how much more the better service gives, negative where that is the second one.
    const more = (difference) => (difference !== null && difference < 0 ? 1 - 1 / (1 + difference) : difference);
    const pairs = DATA.pairs
      .filter((pair) => pair.verdict !== "control")
      .map((pair) => ({
        ...pair,
        difference: more(pair.difference),
        interval: pair.interval?.map(more),
      }));
    if (!pairs.length) return { missing: "this run has no pairs (--mode duet)." };
    const cellOf = new Map(CELLS.map((cell) => [cell.service, cell]));
    const keep = (pair) =>
      ["scenario", "tool"].every((key) => !state[key] || pair[key] === state[key]) &&
      [pair.a, pair.b].some(
        (name) =>
          cellOf.has(name) &&
          ["server", "framework", "python", "base", "settings"].every(
            (key) => !state[key] || cellOf.get(name)[key] === state[key],
          ),
      );
    const shown = pairs.filter(keep).slice(0, MOST_ROWS);
    if (!shown.length) return { missing: "no pair matches the filters." };
    const label = labelsOf(shown.flatMap((pair) => [cellOf.get(pair.a), cellOf.get(pair.b)]).filter(Boolean));
    const short = (name) => (cellOf.has(name) ? label(cellOf.get(name)) : name);
    const tables = new Set(shown.map((pair) => `${pair.scenario} ${pair.tool} ${pair.level}`)).size > 1;
    const name = (pair) =>
      `${short(pair.b)} vs ${short(pair.a)}${tables ? ` (${pair.scenario}${new Set(shown.map((p) => p.level)).size > 1 ? `, ${pair.level}` : ""})` : ""}`;
    const valid = shown.filter((pair) => !pair.verdict.startsWith("invalid") && pair.difference !== null);
    const bounds = valid.filter((pair) => pair.interval && pair.interval[0] !== null);
    const limit = Math.max(
      0.03,
      ...valid.map((pair) => Math.abs(pair.difference) * 1.15),
      ...bounds.map((pair) => Math.min(Math.max(...pair.interval.map(Math.abs)), 3 * Math.abs(pair.difference) + 0.1)),
    );
    const floors = Object.values(DATA.floor);
    const floor = Math.max(0, ...floors);
    const verdictText = (pair) =>
      pair.verdict.startsWith("invalid")
        ? pair.verdict
        : pair.difference === null
          ? pair.verdict
          : `${signed(pair.difference)} ${pair.verdict}`;
    const narrow = width < 680;
    const marginLeft = narrow ? 8 : Math.min(width * 0.42, widest(shown.map(name)) + 16);
    const marginRight = narrow ? 8 : Math.min(width * 0.3, widest(shown.map(verdictText)) + 14);
    const row = narrow ? 58 : 26;
    const y = (pair) => pair.pair;
    const SHAPE = { faster: "triangle", slower: "square", "no difference shown": "circle", "not enough data": "times" };
    const colour = (pair) => (pair.verdict === "faster" ? "var(--s1)" : pair.verdict === "slower" ? "var(--s2)" : SOFT);
    const marks = [Plot.gridX({ stroke: "var(--line)", strokeOpacity: 1 })];
    if (floors.length) marks.push(Plot.rect([0], { x1: -floor, x2: floor, fill: "var(--band)" }));
    marks.push(
      Plot.ruleX([0], { stroke: INK }),
      Plot.ruleY(bounds, {
        y,
        x1: (pair) => Math.max(-limit, pair.interval[0]),
        x2: (pair) => Math.min(limit, pair.interval[1]),
        stroke: colour,
        strokeWidth: 2.5,
      }),
      Plot.dot(valid, {
        y,
        x: "difference",
        symbol: (pair) => SHAPE[pair.verdict] ?? "circle",
        r: 5,
        fill: (pair) => (pair.verdict === "not enough data" ? "none" : colour(pair)),
        stroke: colour,
        strokeWidth: 2,
      }),
    );
    if (narrow) {
      const under = { y, frameAnchor: "left", textAnchor: "start", fill: INK, stroke: "var(--paper)", strokeWidth: 4 };
      marks.push(
        Plot.text(shown, { ...under, dy: -17, text: (pair) => clip(name(pair), width - 16) }),
        Plot.text(shown, { ...under, dy: 16, fill: SOFT, text: (pair) => clip(verdictText(pair), width - 16) }),
      );
    } else
      marks.push(
        Plot.text(shown, {
          y,
          frameAnchor: "right",
          textAnchor: "start",
          dx: 10,
          text: (pair) => clip(verdictText(pair), marginRight - 10),
          fill: INK,
        }),
      );
    const drawing = Plot.plot({
      width,
      height: 34 + shown.length * row + 8,
      marginLeft,
      marginRight,
      marginTop: 34,
      marginBottom: 8,
      style: STYLE,
      x: {
        domain: [-limit, limit],
        axis: "top",
        label: "difference",
        labelArrow: "none",
        tickFormat: (d) => `${d > 0 ? "+" : d < 0 ? "−" : ""}${(Math.abs(d) * 100).toFixed(limit < 0.04 ? 1 : 0)} %`,
        ticks: narrow ? 5 : 9,
        tickSize: 0,
      },
      y: {
        type: "band",
        domain: shown.map(y),
        axis: narrow ? null : "left",
        tickFormat: (id) => clip(name(shown.find((pair) => pair.pair === id)), marginLeft - 14),
        tickSize: 0,
        label: null,
      },
      symbol: { legend: false },
      marks,
    });
    const span = (pair) =>
      pair.interval && pair.interval[0] !== null
        ? `${signed(pair.interval[0])} to ${signed(pair.interval[1])}`
        : NOTHING;
    return {
      drawing,
      notes: [
        "▲ faster, ■ slower, ● no difference shown, ✕ not enough data.",
        ...(floors.length
          ? [
              `The shaded band around 0 is the noise floor: the largest difference of this run's A/A pairs, ${share(floor)}. Smaller differences are treated as noise.`,
            ]
          : []),
        ...(shown.length < pairs.length ? [`${shown.length} of ${pairs.length} pairs are shown.`] : []),
      ],
      alt: shown
        .slice(0, 6)
        .map((pair) => `${name(pair)}: ${verdictText(pair)}, ${span(pair)}`)
        .join("; "),
      columns: [
        ["pair"],
        ["verdict"],
        ["difference", true],
        ["interval", true],
        ["metric"],
        ["rounds", true],
        ["remarks"],
      ],
      rows: shown.map((pair) => [
        name(pair),
        pair.verdict,
        signed(pair.difference),
        span(pair),
        pair.judge,
        String(pair.rounds),
        [pair.reason, ...(pair.flags ?? [])].filter(Boolean).join("; ") || NOTHING,
      ]),
    };
  },
);
