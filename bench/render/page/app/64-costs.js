/* Draws what a request costs: CPU time and memory under load of each service, next to its goodput. */

chart(
  "costs",
  "Cost per request",
  "CPU time per successful response (of the service, plus the database where the scenario uses it) and memory under load, sorted by goodput. Lower is better for CPU time and memory.",
  (width) => {
    const { cells, first } = chartedCells();
    const costed = cells
      .filter((cell) => cell.valid && (cell.cpu_s !== null || cell.memory_bytes !== null))
      .slice(0, width < 680 ? 15 : 40);
    if (!first) return { missing: NO_SOLO };
    if (first.mode === "turns") return { missing: RANKED };
    if (!costed.length)
      return { missing: "no valid measurement under this load has CPU or memory counters of its server." };
    const label = labelsOf(cells);
    const names = costed.map(label);
    const narrow = width < 680;
    const small = d3.max(costed, (cell) => cell.cpu_s ?? 0) < 1e-3;
    const panels = [
      [
        `CPU time per request, ${small ? "µs" : "ms"}`,
        (cell) => (cell.cpu_s === null ? null : cell.cpu_s * (small ? 1e6 : 1e3)),
        "var(--s2)",
        "square",
      ],
      [
        "memory under load, MB",
        (cell) => (cell.memory_bytes === null ? null : cell.memory_bytes / 1e6),
        "var(--s3)",
        "triangle",
      ],
      ["goodput, requests/s", (cell) => cell.goodput, "var(--s1)", "circle"],
    ].filter(([, value]) => costed.some((cell) => value(cell) !== null));
    const marginLeft = narrow ? 8 : Math.min(width * 0.3, widest(names) + 14);
    const each = narrow ? width : (width - marginLeft) / panels.length - 8;
    const row = narrow ? 36 : 24;
    const drawing = make("div", {
      class: narrow ? "stack" : "side",
      style: narrow
        ? null
        : `grid-template-columns: ${marginLeft + each}px ${panels
            .slice(1)
            .map(() => "1fr")
            .join(" ")}`,
    });
    panels.forEach(([title, value, colour, symbol], index) => {
      const left = index && !narrow ? 8 : marginLeft;
      const own = narrow ? width : index ? each : marginLeft + each;
      const top = d3.max(costed, (cell) => value(cell) ?? 0) * 1.05;
      const there = costed.filter((cell) => value(cell) !== null);
      drawing.append(
        make(
          "div",
          {},
          make("h4", { style: `padding-left: ${left}px` }, title),
          Plot.plot({
            width: own,
            height: 24 + row * costed.length + 6,
            marginLeft: left,
            marginRight: 64,
            marginTop: 24,
            marginBottom: 6,
            style: STYLE,
            x: { domain: [0, top], axis: "top", label: null, ticks: 4, tickFormat: tick, tickSize: 0 },
            y: {
              type: "band",
              domain: costed.map((cell) => cell.index),
              axis: index || narrow ? null : "left",
              label: null,
              tickSize: 0,
              tickFormat: (place) => clip(names[costed.findIndex((cell) => cell.index === place)], marginLeft - 12),
            },
            symbol: { type: "identity" },
            marks: [
              Plot.ruleY(there, { y: "index", x1: 0, x2: value, stroke: colour, strokeWidth: 2, strokeOpacity: 0.45 }),
              Plot.dot(there, { y: "index", x: value, fill: colour, symbol, r: 4.5 }),
              Plot.text(costed, {
                y: "index",
                frameAnchor: "right",
                textAnchor: "start",
                dx: 8,
                text: (cell) => number(value(cell)),
                fill: INK,
                fontVariant: "tabular-nums",
              }),
              ...(narrow
                ? [
                    Plot.text(costed, {
                      y: "index",
                      frameAnchor: "left",
                      textAnchor: "start",
                      dy: -12,
                      text: (_, i) => clip(names[i], width - 80),
                      fill: INK,
                    }),
                  ]
                : []),
            ],
          }),
        ),
      );
    });
    const valid = cells.filter((cell) => cell.valid).length;
    return {
      drawing,
      notes: [`Shown: ${loadText(first)}${costed.length < valid ? `, ${costed.length} of ${valid} services` : ""}.`],
      alt: `${loadText(first)}. ${costed
        .slice(0, 6)
        .map(
          (cell) =>
            `${label(cell)}: ${milliseconds(cell.cpu_s)} CPU, ${megabytes(cell.memory_bytes)}, ${rate(cell.goodput)}`,
        )
        .join("; ")}.`,
      columns: [["service"], ["CPU time per request", true], ["memory under load", true], ["requests/s", true]],
      rows: costed.map((cell) => [
        label(cell),
        milliseconds(cell.cpu_s),
        megabytes(cell.memory_bytes),
        number(cell.goodput),
      ]),
    };
  },
  { modes: ["solo", "rate"] },
);
