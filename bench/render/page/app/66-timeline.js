const BINS = 400;

picture(
  "timeline",
  "The run in time, and its noise",
  "What was lost to others in each measurement's window: time that the hypervisor took (steal), CPU of other programs (foreign), and the part of the window in which some task of the host waited for a CPU (pressure, which a server under load makes by itself). Above a limit the whole round is void for solo figures.",
  (width) => {
    const order = MEASUREMENTS.slice().sort((a, b) => (a.at_s ?? a.place) - (b.at_s ?? b.place));
    const timed =
      order.every((one) => one.at_s !== null || one.goodput === null) && order.some((one) => one.at_s !== null);
    const kept = order.filter((one) => !timed || one.at_s !== null);
    const x = new Map(kept.map((one, i) => [one.place, timed ? one.at_s / 60 : i + 1]));
    const panels = [
      ["steal, % of the host", "steal", DATA.limits.steal],
      ["foreign CPU, % of the host", "foreign", DATA.limits.foreign],
      ["pressure, % of the window", "pressure", null],
    ];
    const present = panels.filter(([, key]) => kept.some((one) => one[key] !== null));
    const absent = panels.filter((panel) => !present.includes(panel)).map(([title]) => title.split(",")[0]);
    if (!present.length) return { missing: "no measurement has counters of the host (steal, foreign CPU, pressure)." };
    const last = Math.max(...x.values());
    const domain = timed ? [0, last * 1.02 || 1] : [0, last + 1];
    const voids = [
      ...d3
        .group(
          kept.filter((one) => one.noisy),
          (one) => one.round,
        )
        .keys(),
    ].map((round) => {
      const own = kept
        .filter((one) => one.round === round && CELLS[one.cell].mode !== "duet")
        .map((one) => x.get(one.place));
      return { round, from: Math.min(...own), to: Math.max(...own) + (timed ? last * 0.004 : 0.5) };
    });
    const drawing = make("div", { class: "stack" });
    let excess = 0;
    for (const [title, key, limit] of present) {
      let points = kept
        .filter((one) => one[key] !== null)
        .map((one) => ({ x: x.get(one.place), y: one[key] * 100, one }));
      if (points.length > BINS) {
        const bins = d3.group(points, (p) => Math.floor((p.x / domain[1]) * BINS));
        points = [...bins.values()].map((bin) => bin.reduce((a, b) => (b.y > a.y ? b : a)));
      }
      const over = limit === null ? [] : points.filter((p) => p.one[key] > limit);
      excess += over.length;
      const top = Math.max((limit ?? 0) * 140, d3.max(points, (p) => p.y) * 1.15, 1);
      const bottom = key === present.at(-1)[1];
      drawing.append(
        make("h4", { style: "padding-left: 44px" }, title),
        Plot.plot({
          width,
          height: 110 + (bottom ? 26 : 0),
          marginLeft: 44,
          marginRight: 70,
          marginTop: 14,
          marginBottom: bottom ? 38 : 12,
          style: STYLE,
          x: {
            domain,
            label: bottom ? (timed ? "minutes since the first load" : "measurement, in the order of the plan") : null,
            labelArrow: "none",
            ticks: width < 560 ? 5 : 9,
            tickFormat: bottom ? undefined : () => "",
          },
          y: {
            domain: [0, top],
            label: null,
            ticks: 3,
            tickFormat: (d) => `${+d.toFixed(1)} %`,
            tickSize: 0,
            grid: true,
          },
          marks: [
            hatch(`hatch-${key}`),
            Plot.rect(voids, { x1: "from", x2: "to", y1: 0, y2: top, fill: `url(#hatch-${key})`, fillOpacity: 0.6 }),
            Plot.text(key === present[0][1] ? voids.slice(0, 12) : [], {
              x: (v) => (v.from + v.to) / 2,
              frameAnchor: "top",
              dy: -6,
              text: (v) => `round ${v.round} void`,
              fill: INK,
              fontSize: 11,
            }),
            Plot.ruleX(points, {
              x: "x",
              y1: 0,
              y2: "y",
              stroke: "var(--s1)",
              strokeWidth: points.length > 150 ? 1.2 : 2.5,
              title: (p) => `${p.one.id}, ${CELLS[p.one.cell].service}: ${p.y.toFixed(1)} %`,
            }),
            Plot.dot(over, { x: "x", y: "y", symbol: "times", stroke: "var(--bad)", strokeWidth: 2, r: 4 }),
            ...(limit === null
              ? []
              : [
                  Plot.ruleY([limit * 100], { stroke: "var(--bad)", strokeDasharray: "4 3" }),
                  labels(
                    [
                      [
                        width - 64,
                        14 + (110 - 26) * (1 - (limit * 100) / top),
                        `limit ${+(limit * 100).toFixed(1)} %`,
                        "var(--bad)",
                      ],
                    ],
                    { size: 11 },
                  ),
                ]),
            Plot.ruleY([0], { stroke: SOFT }),
          ],
        }),
      );
    }
    const rounds = [...d3.group(kept, (one) => one.round)].sort((a, b) => a[0] - b[0]);
    const worst = (group, key) => share(d3.max(group, (one) => one[key]) ?? null);
    return {
      drawing,
      notes: [
        ...(voids.length
          ? [
              `Void by the host's noise: ${voids.length > 12 ? plural(voids.length, "round") : `round${voids.length > 1 ? "s" : ""} ${voids.map((v) => v.round).join(", ")}`}. ✕ marks what lies above its limit.`,
            ]
          : ["No round is void by the host's noise."]),
        ...(!voids.length && excess
          ? ["✕ lies above its limit, in a pair's window: noise hits both sides of a pair alike, and voids none."]
          : []),
        ...(timed ? [] : ["When each measurement began was not saved: they stand in the order of the plan."]),
        ...(kept.length > BINS
          ? [`${plural(kept.length, "measurement")} in ${BINS} steps of time; each shows the worst in it.`]
          : []),
        ...(kept.some((one) => CELLS[one.cell].mode === "duet")
          ? ["In a pair's window each service is another to the other: its foreign CPU is not told."]
          : []),
        ...(absent.length ? [`Not drawn: ${absent.join(", ")}, which no measurement has.`] : []),
      ],
      alt: `${plural(kept.length, "measurement")} in ${plural(rounds.length, "round")}; ${
        voids.length
          ? `void: ${voids
              .slice(0, 12)
              .map((v) => `round ${v.round}`)
              .join(", ")}`
          : "none is void by noise"
      }. Worst steal ${worst(kept, "steal")}, foreign CPU ${worst(kept, "foreign")}, pressure ${worst(kept, "pressure")}.`,
      columns: [
        ["round", true],
        ["measurements", true],
        ["most steal", true],
        ["most foreign CPU", true],
        ["most pressure", true],
        ["void"],
      ],
      rows: rounds.map(([round, group]) => [
        String(round),
        String(group.length),
        worst(group, "steal"),
        worst(group, "foreign"),
        worst(group, "pressure"),
        group.some((one) => one.noisy) ? "yes" : "no",
      ]),
    };
  },
  { filtered: false },
);
