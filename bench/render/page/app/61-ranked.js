const MOST_ROWS = 60;

picture(
  "ranked",
  "Goodput, ranked",
  "Good answers per second, the mean of the valid rounds with its 95 % interval over them. What is not valid stands below with its cause, and has no rank.",
  (width) => {
    const { cells, first } = drawn();
    if (!first) return { missing: NO_SOLO };
    if (first.open) return { missing: OPEN_LOOP };
    const label = labelsOf(cells);
    const ranked = cells.filter((cell) => cell.valid);
    const invalid = cells.filter((cell) => !cell.valid);
    const room = Math.max(MOST_ROWS - Math.min(invalid.length, 10), 20);
    const shown = [...ranked.slice(0, room), ...invalid.slice(0, MOST_ROWS - Math.min(ranked.length, room))];
    const names = new Map(shown.map((cell) => [cell.place, label(cell)]));
    const narrow = width < 560;
    const marginLeft = narrow ? 8 : Math.min(width * 0.34, widest([...names.values()], 13) + 14);
    const values = shown.map((cell) =>
      cell.valid ? number(cell.goodput) + (cell.valid < cell.rounds ? ` †${cell.valid}/${cell.rounds}` : "") : "",
    );
    const marginRight = Math.max(72, widest(values) + 14);
    const row = narrow ? 40 : 24;
    const best = ranked[0]?.goodput ?? 1;
    // Without a figure there is no scale to draw anything on.
    const ceiling = ranked.length ? first.ceiling : null;
    const near = ceiling && ceiling < 1.5 * best;
    const top = Math.max(
      best * 1.06,
      near ? ceiling * 1.04 : 0,
      ...ranked.map((cell) => Math.min(cell.high ?? 0, best * 1.35)),
    );
    const floor = DATA.floor.goodput;
    const marginTop = ceiling ? 48 : 30;
    const marks = [
      ranked.length ? Plot.gridX({ stroke: "var(--line)", strokeOpacity: 1 }) : null,
      hatch("hatch-ranked"),
    ];
    if (floor !== undefined && ranked.length)
      marks.push(Plot.rect([0], { x1: best / (1 + floor), x2: best, fill: "var(--band)" }));
    if (ceiling)
      marks.push(
        Plot.ruleX([near ? ceiling : top], { stroke: INK, strokeDasharray: near ? "5 3" : "2 4" }),
        Plot.text([near ? ceiling : top], {
          frameAnchor: "top",
          x: (d) => d,
          dy: -32,
          textAnchor: "end",
          dx: 4,
          text: () =>
            `null server ${rate(ceiling)}${near ? "" : narrow ? " ▸" : `, ${(ceiling / best).toFixed(1)} × the best, beyond this scale ▸`}`,
          fill: INK,
        }),
      );
    const y = (cell) => cell.place;
    const spreadOf = ranked.filter((cell) => names.has(cell.place) && cell.low !== null);
    marks.push(
      Plot.ruleY(spreadOf, {
        y,
        x1: "low",
        x2: (cell) => Math.min(cell.high, top),
        stroke: "var(--s1)",
        strokeWidth: 5,
        strokeOpacity: 0.38,
        strokeLinecap: "butt",
      }),
      Plot.dot(
        ranked.filter((cell) => names.has(cell.place)),
        {
          y,
          x: "goodput",
          r: 4.5,
          fill: "var(--s1)",
          stroke: "var(--paper)",
          title: (cell) =>
            `${label(cell)}: ${rate(cell.goodput)}${cell.low === null ? "" : `, 95 % ${number(cell.low)} to ${number(cell.high)}`}, ${roundsWords(cell)}`,
        },
      ),
      Plot.text(
        spreadOf.filter((cell) => cell.high > top),
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
    );
    const failed = shown.filter((cell) => !cell.valid);
    if (failed.length)
      marks.push(
        Plot.rect(failed, {
          y,
          x1: 0,
          x2: top,
          fill: "url(#hatch-ranked)",
          inset: narrow ? 2 : 5,
          insetTop: narrow ? 18 : 5,
          fillOpacity: 0.45,
        }),
        Plot.text(failed, {
          y,
          x: 0,
          dx: 6,
          dy: narrow ? 9 : 0,
          textAnchor: "start",
          fill: INK,
          stroke: "var(--paper)",
          strokeWidth: 5,
          text: (cell) => clip(`✕ ${cell.state}`, (width - marginLeft - marginRight) * 0.95),
        }),
      );
    if (narrow)
      marks.push(
        Plot.text(shown, {
          y,
          frameAnchor: "left",
          textAnchor: "start",
          dy: -11,
          text: (cell) => clip(names.get(cell.place), width - marginRight),
          fill: INK,
        }),
      );
    const drawing = Plot.plot({
      width,
      height: marginTop + shown.length * row + 8,
      marginLeft,
      marginRight,
      marginTop,
      marginBottom: 8,
      style: STYLE,
      x: {
        domain: [0, top],
        axis: ranked.length ? "top" : null,
        label: "requests/s",
        labelArrow: "none",
        ticks: narrow ? 4 : 7,
        tickFormat: tick,
        tickSize: 0,
        nice: false,
      },
      y: {
        type: "band",
        domain: shown.map(y),
        axis: narrow ? null : "left",
        tickFormat: (place) => clip(names.get(place), marginLeft - 12),
        tickSize: 0,
        label: null,
        padding: 0,
      },
      marks,
    });
    const notes = [`Drawn: ${loadWords(first)}.`];
    if (ranked.length && ranked.every((cell) => cell.low === null))
      notes.push("No interval is drawn: it takes two valid rounds that differ, and without it noise is unknown.");
    if (first.rate !== null)
      notes.push(`Services at the asked ${rate(first.rate)} were held there: between them nothing is shown.`);
    if (!ranked.length) notes.push("No measurement of this load is valid: there is nothing to rank, and no scale.");
    else if (floor !== undefined)
      notes.push(
        `The band left of the best is the A/A floor: a service differed from itself by ${share(floor)} in this run.`,
      );
    else notes.push("No A/A floor is drawn: this run has no valid pair of a service beside itself.");
    if (!first.ceiling)
      notes.push(`No ceiling is drawn: the null server has no valid figure for ${first.tool} in this run.`);
    else
      notes.push(
        `The null server reaches ${rate(first.ceiling)}: answering statically, it shows what ${first.tool} can do here.`,
      );
    if (shown.length < cells.length)
      notes.push(
        `${cells.length - shown.length} more of ${cells.length} are in the table; the filters bring them in here.`,
      );
    const words = ranked.slice(0, 5).map((cell, i) => `${i + 1}. ${label(cell)} ${rate(cell.goodput)}`);
    return {
      drawing,
      notes,
      alt: `${loadWords(first)}. ${ranked.length} ranked${words.length ? `, first ${words.join("; ")}` : ""}. ${invalid.length} not valid${
        invalid.length
          ? `: ${invalid
              .slice(0, 5)
              .map((cell) => `${label(cell)}, ${cell.state}`)
              .join("; ")}`
          : ""
      }.`,
      columns: [
        ["service"],
        ["requests/s", true],
        ["95 % interval", true],
        ["valid rounds", true],
        ["not valid because"],
      ],
      rows: cells.map((cell) => [
        label(cell),
        number(cell.goodput),
        cell.low === null ? NOTHING : `${number(cell.low)} to ${number(cell.high)}`,
        `${cell.valid} of ${cell.rounds}`,
        cell.valid ? NOTHING : cell.state,
      ]),
    };
  },
);
