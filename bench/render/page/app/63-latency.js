/* Draws the latency of open-loop loads by percentile. */

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
