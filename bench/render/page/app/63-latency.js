/* Draws latency: the percentiles of open-loop loads, and goodput against p99 over the levels of load. */

chart(
  "latency",
  "Open-loop latency by percentile",
  "Requests are sent at a fixed rate, regardless of the responses. Each curve merges the latency distributions of all valid rounds and ends where fewer than 50 requests were slower.",
  (width) => {
    const every = ALONE.filter((cell) => passesFilters(cell) && DATA.curves[cell.index]);
    if (!every.length)
      return {
        missing:
          "no open-loop measurement (vegeta, a level such as r500) matches the filters. Closed-loop tools report no distribution that could be merged.",
      };
    const chosen = every.some((cell) => cell.load === state.load)
      ? state.load
      : every
          .slice()
          .sort(
            (a, b) =>
              every.filter((c) => c.load === b.load).length - every.filter((c) => c.load === a.load).length ||
              natural(a.load, b.load),
          )[0].load;
    const cells = every.filter((cell) => cell.load === chosen);
    const end = (cell) => DATA.curves[cell.index].at(-1);
    cells.sort((a, b) => end(a)[1] - end(b)[1]);
    const label = labelsOf(cells);
    const shown = cells.length <= MOST_LINES ? cells : [...cells.slice(0, 4), ...cells.slice(-4)];
    const points = shown.flatMap((cell, line) =>
      DATA.curves[cell.index].map(([part, seconds]) => ({ x: 1 / (1 - part), y: Math.max(seconds * 1e3, 1e-3), line })),
    );
    const names = shown.map(label);
    const narrow = width < NARROW;
    const marginRight = narrow ? 14 : Math.min(width * 0.4, widest(names) + 36);
    const domain = [d3.min(points, (p) => p.y) * 0.9, d3.max(points, (p) => p.y) * 1.1];
    const most = d3.max(points, (p) => p.x);
    const height = 360;
    const options = {
      width,
      height,
      marginLeft: 52,
      marginRight,
      marginBottom: 40,
      marginTop: 26,
      style: STYLE,
      x: {
        type: "log",
        domain: [1 / (1 - 0.25), most],
        label: "percentile",
        labelArrow: "none",
        ticks: [2, ...(width < NARROW ? [] : [4]), 10, 100, 1000, 10000].filter((one) => one <= most),
        tickFormat: (d) => `p${+(100 * (1 - 1 / d)).toFixed(2)}`,
        grid: true,
      },
      y: latencyScale(domain, height, "latency, ms"),
    };
    const scale = Plot.plot({ ...options, marks: [Plot.dot(points, { x: "x", y: "y" })] }).scale("y");
    const at = spread(
      shown.map((cell) => scale.apply(Math.max(end(cell)[1] * 1e3, 1e-3))),
      15,
    );
    const drawing = Plot.plot({
      ...options,
      marks: [
        ...shown.map((_, line) =>
          Plot.line(
            points.filter((p) => p.line === line),
            { x: "x", y: "y", stroke: COLOURS[line], strokeWidth: 2, strokeDasharray: DASHES[line], clip: true },
          ),
        ),
        Plot.dot(
          shown.map((_, line) => points.filter((p) => p.line === line).at(-1)),
          { x: "x", y: "y", symbol: (p) => SYMBOLS[p.line], fill: (p) => COLOURS[p.line], r: 4 },
        ),
        narrow
          ? null
          : labels(
              shown.map((_, line) => [
                width - marginRight + 12,
                at[line],
                clip(names[line], marginRight - 30),
                COLOURS[line],
                SYMBOLS[line],
              ]),
            ),
      ],
      symbol: { type: "identity" },
    });
    const percentile = (cell, part) => DATA.curves[cell.index].find(([at]) => Math.abs(at - part) < 1e-3)?.[1] ?? null;
    const top = (cell) => `p${+(100 * end(cell)[0]).toFixed(2)} ${milliseconds(end(cell)[1])}`;
    return {
      drawing: narrow ? legend(drawing, names) : drawing,
      notes: [
        `Shown: ${loadText(cells[0])}.`,
        ...(shown.length < cells.length
          ? [
              `Shown are the four shortest and the four longest tails of ${cells.length}; use the filters to chart the others.`,
            ]
          : []),
      ],
      alt: `${loadText(cells[0])}. ${shown.map((cell) => `${label(cell)} up to ${top(cell)}`).join("; ")}.`,
      columns: [
        ["service"],
        ["p90", true],
        ["p99", true],
        ["p99.9", true],
        ["highest percentile with enough requests", true],
      ],
      rows: cells.map((cell) => [
        label(cell),
        milliseconds(percentile(cell, 0.9)),
        milliseconds(percentile(cell, 0.99)),
        milliseconds(percentile(cell, 0.999)),
        top(cell),
      ]),
    };
  },
);

chart(
  "levels",
  "Goodput and p99 latency by level",
  "Each point is one level of load: further right is more goodput, further up is slower. A ringed point is the knee, the highest rate at which p99 stays within its limit.",
  (width) => {
    const { first } = chartedCells();
    const from = first ?? ALONE.find(passesFilters);
    if (!from) return { missing: NO_SOLO };
    const cells = ALONE.filter(
      (cell) =>
        passesFilters(cell) && cell.scenario === from.scenario && cell.tool === from.tool && cell.goodput && cell.p99_s,
    );
    if (!cells.length)
      return {
        missing: `no valid measurement of ${from.scenario} with ${from.tool} has enough requests for a p99.`,
      };
    const label = labelsOf(cells);
    const groups = [...d3.group(cells, (cell) => cell.service).values()];
    groups.sort((a, b) => d3.max(b, (c) => c.goodput) - d3.max(a, (c) => c.goodput));
    const shown = groups.slice(0, MOST_LINES).map((group) => group.slice().sort((a, b) => natural(a.level, b.level)));
    const points = shown.flatMap((group, line) =>
      group.map((cell) => ({
        cell,
        line,
        x: cell.goodput,
        y: cell.p99_s * 1e3,
        low: (cell.p99_low_s ?? cell.p99_s) * 1e3,
        high: (cell.p99_high_s ?? cell.p99_s) * 1e3,
      })),
    );
    const names = shown.map((group) => label(group[0]));
    const narrow = width < NARROW;
    const marginRight = narrow ? 14 : Math.min(width * 0.4, widest(names) + 36);
    const domain = [d3.min(points, (p) => p.low) * 0.8, d3.max(points, (p) => p.high) * 1.25];
    const height = 380;
    const options = {
      width,
      height,
      marginLeft: 56,
      marginRight,
      marginBottom: 42,
      marginTop: 26,
      style: STYLE,
      x: {
        domain: [0, d3.max(points, (p) => p.x) * 1.06],
        label: "goodput, requests/s",
        labelArrow: "none",
        tickFormat: tick,
        tickSize: 0,
        ticks: width < NARROW ? 4 : 7,
        grid: true,
      },
      y: latencyScale(domain, height, "p99, ms"),
      symbol: { type: "identity" },
    };
    const empty = Plot.plot({ ...options, marks: [Plot.dot(points, { x: "x", y: "y" })] });
    const [scale, across] = [empty.scale("y"), empty.scale("x")];
    const last = shown.map((_, line) => points.filter((p) => p.line === line).reduce((a, b) => (b.x > a.x ? b : a)));
    const at = spread(
      last.map((p) => scale.apply(p.y)),
      15,
    );
    const several = new Set(cells.map((cell) => cell.level)).size > 1;
    const levelLabels =
      several || points.some((p) => p.cell.knee)
        ? apart(
            points.map((p) => [
              across.apply(p.x),
              scale.apply(p.y) - (p.cell.knee ? 15 : 11),
              p.cell.knee ? "knee" : p.cell.level,
            ]),
          )
        : [];
    const drawing = Plot.plot({
      ...options,
      marks: [
        Plot.ruleX(
          points.filter((p) => p.high > p.low),
          { x: "x", y1: "low", y2: "high", stroke: (p) => COLOURS[p.line], strokeOpacity: 0.5, strokeWidth: 1.5 },
        ),
        Plot.line(points, { x: "x", y: "y", z: "line", stroke: (p) => COLOURS[p.line], strokeWidth: 1.5 }),
        Plot.dot(points, {
          x: "x",
          y: "y",
          r: 4.5,
          symbol: (p) => SYMBOLS[p.line],
          fill: (p) => COLOURS[p.line],
          stroke: "var(--paper)",
          title: (p) => `${label(p.cell)}, ${levelText(p.cell.level)}: ${rate(p.x)}, p99 ${milliseconds(p.cell.p99_s)}`,
        }),
        Plot.dot(
          points.filter((p) => p.cell.knee),
          { x: "x", y: "y", r: 10, stroke: INK, strokeWidth: 1.5 },
        ),
        () => {
          const group = svg("g", {
            "font-size": 11,
            "text-anchor": "middle",
            fill: SOFT,
            stroke: "var(--paper)",
            "stroke-width": 3,
            "paint-order": "stroke",
          });
          for (const [x, y, text] of levelLabels) group.append(svg("text", { x, y }, text));
          return group;
        },
        narrow
          ? null
          : labels(
              last.map((_, line) => [
                width - marginRight + 12,
                at[line],
                clip(names[line], marginRight - 30),
                COLOURS[line],
                SYMBOLS[line],
              ]),
            ),
      ],
    });
    const merged = points[0].cell.merged;
    return {
      drawing: narrow ? legend(drawing, names) : drawing,
      notes: [
        `Shown: ${from.scenario}, ${from.tool}${several ? "" : `, one level (${levelText(cells[0].level)})`}.`,
        merged
          ? "p99 is that of all valid rounds merged."
          : "A closed loop sends nothing while it waits for responses, so its p99 understates stalls (coordinated omission). The point is the median round; the vertical line spans the lowest to the highest round.",
        ...(cells.some((cell) => cell.knee)
          ? []
          : ["No knee: this run did not search for one under this load (level knee:p99=50ms)."]),
        ...(shown.length < groups.length
          ? [
              `Shown are the ${shown.length} of ${groups.length} services with the highest goodput; use the filters to chart the others.`,
            ]
          : []),
      ],
      alt: names
        .map(
          (name, line) =>
            `${name}: ${points
              .filter((p) => p.line === line)
              .map(
                (p) =>
                  `${levelText(p.cell.level)} ${rate(p.x)} at ${milliseconds(p.cell.p99_s)}${p.cell.knee ? " (knee)" : ""}`,
              )
              .join(", ")}`,
        )
        .join("; "),
      columns: [["service"], ["level"], ["requests/s", true], ["p99", true], ["p99 range over rounds", true], ["knee"]],
      rows: cells.map((cell) => [
        label(cell),
        levelText(cell.level),
        number(cell.goodput),
        milliseconds(cell.p99_s),
        cell.p99_low_s === null ? NOTHING : `${milliseconds(cell.p99_low_s)} to ${milliseconds(cell.p99_high_s)}`,
        cell.knee ? `${rate(cell.knee[0])}, confirmed in ${cell.knee[1]} of ${cell.knee[2]} later rounds` : NOTHING,
      ]),
    };
  },
);
