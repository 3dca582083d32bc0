/* Draws the noise on the host over the run: steal, foreign CPU and CPU pressure of every measurement. */

const BINS = 400;
// Lower if the page begins with rankings: noise is secondary then.
const PANEL_HEIGHT = answered(64, 110);
const PANELS = [
  { title: "steal, % of the host", key: "steal", limit: DATA.limits.steal },
  { title: "foreign CPU, % of the host", key: "foreign", limit: DATA.limits.foreign },
  { title: "CPU pressure, % of the window", key: "pressure", limit: null },
];

chart(
  "timeline",
  "Noise over the run",
  "CPU time lost in each measurement. Steal: taken by the hypervisor. Foreign: used by other programs. Pressure: part of the window in which a task waited for a CPU (a loaded server contributes to it). Requests/s and latencies of windows above a limit are not ranked.",
  (width) => {
    const { kept, timed, x } = timeAxis();
    const panels = PANELS.filter(({ key }) => kept.some((one) => one[key] !== null));
    if (!panels.length)
      return { missing: "no measurement has noise counters of the host (steal, foreign CPU, pressure)." };
    const last = Math.max(...x.values());
    const domain = timed ? [0, last * 1.02 || 1] : [0, last + 1];
    const noisy = noisyRounds(kept, x, timed ? last * 0.004 : 0.5);
    const drawing = make("div", { class: "stack" });
    let exceeded = 0;
    for (const panel of panels) {
      const points = timelinePoints(kept, panel.key, x, domain);
      const over = panel.limit === null ? [] : points.filter((p) => p.one[panel.key] > panel.limit);
      exceeded += over.length;
      drawing.append(
        make("h4", { style: "padding-left: 44px" }, panel.title),
        timelinePanel(panel, points, over, noisy, {
          width,
          domain,
          timed,
          top: panel === panels[0],
          bottom: panel === panels.at(-1),
        }),
      );
    }
    const rounds = [...d3.group(kept, (one) => one.round)].sort((a, b) => a[0] - b[0]);
    const most = (group, key) => share(d3.max(group, (one) => one[key]) ?? null);
    const absent = PANELS.filter((panel) => !panels.includes(panel));
    return {
      drawing,
      notes: timelineNotes({ kept, timed, noisy, exceeded, absent }),
      alt: `${plural(kept.length, "measurement")} in ${plural(rounds.length, "round")}; ${
        noisy.length ? `noise: ${roundList(noisy)}` : "no noise above the limits"
      }. Highest steal ${most(kept, "steal")}, foreign CPU ${most(kept, "foreign")}, pressure ${most(kept, "pressure")}.`,
      columns: [
        ["round", true],
        ["measurements", true],
        ["highest steal", true],
        ["highest foreign CPU", true],
        ["highest pressure", true],
        ["noise"],
      ],
      rows: rounds.map(([round, group]) => [
        String(round),
        String(group.length),
        most(group, "steal"),
        most(group, "foreign"),
        most(group, "pressure"),
        group.some((one) => one.noisy) ? "yes" : "no",
      ]),
    };
  },
  { filtered: false },
);

/** The measurements in order and where each is on the x axis: in minutes, or by position if start times are missing. */
function timeAxis() {
  const order = MEASUREMENTS.slice().sort((a, b) => (a.at_s ?? a.index) - (b.at_s ?? b.index));
  const timed =
    order.every((one) => one.at_s !== null || one.goodput === null) && order.some((one) => one.at_s !== null);
  const kept = order.filter((one) => !timed || one.at_s !== null);
  return { kept, timed, x: new Map(kept.map((one, i) => [one.index, timed ? one.at_s / 60 : i + 1])) };
}

/** The rounds with noise above a limit, with their extent on the x axis. */
function noisyRounds(kept, x, padding) {
  const noisy = d3.group(
    kept.filter((one) => one.noisy),
    (one) => one.round,
  );
  return [...noisy.keys()].map((round) => {
    const own = kept
      .filter((one) => one.round === round && CELLS[one.cell].mode !== "turns")
      .map((one) => x.get(one.index));
    return { round, from: Math.min(...own), to: Math.max(...own) + padding };
  });
}

/** A point per measurement; if there are many, the highest of each time step. */
function timelinePoints(kept, key, x, domain) {
  const points = kept
    .filter((one) => one[key] !== null)
    .map((one) => ({ x: x.get(one.index), y: one[key] * 100, one }));
  if (points.length <= BINS) return points;
  const bins = d3.group(points, (p) => Math.floor((p.x / domain[1]) * BINS));
  return [...bins.values()].map((bin) => bin.reduce((a, b) => (b.y > a.y ? b : a)));
}

function timelinePanel({ key, limit }, points, over, noisy, { width, domain, timed, top, bottom }) {
  const most = Math.max((limit ?? 0) * 140, d3.max(points, (p) => p.y) * 1.15, 1);
  const xLabel = timed ? "minutes since the first measurement" : "measurement, in the order of the plan";
  return Plot.plot({
    width,
    height: PANEL_HEIGHT + (bottom ? 26 : 0),
    marginLeft: 44,
    marginRight: 70,
    marginTop: 14,
    marginBottom: bottom ? 38 : 12,
    style: STYLE,
    x: {
      domain,
      label: bottom ? xLabel : null,
      labelArrow: "none",
      ticks: width < NARROW ? 5 : 9,
      tickFormat: bottom ? undefined : () => "",
    },
    y: {
      domain: [0, most],
      label: null,
      ticks: 3,
      tickFormat: (d) => `${+d.toFixed(1)} %`,
      tickSize: 0,
      grid: true,
    },
    marks: [
      hatch(`hatch-${key}`),
      Plot.rect(noisy, { x1: "from", x2: "to", y1: 0, y2: most, fill: `url(#hatch-${key})`, fillOpacity: 0.6 }),
      Plot.text(top ? noisy.slice(0, 12) : [], {
        x: (round) => (round.from + round.to) / 2,
        frameAnchor: "top",
        dy: -6,
        text: ({ round }) => `noise in round ${round}`,
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
      ...limitMarks(limit, most, width),
      Plot.ruleY([0], { stroke: SOFT }),
    ],
  });
}

function limitMarks(limit, most, width) {
  if (limit === null) return [];
  const y = 14 + (PANEL_HEIGHT - 26) * (1 - (limit * 100) / most);
  return [
    Plot.ruleY([limit * 100], { stroke: "var(--bad)", strokeDasharray: "4 3" }),
    labels([[width - 64, y, `limit ${+(limit * 100).toFixed(1)} %`, "var(--bad)"]], { size: 11 }),
  ];
}

/** "round 2", "rounds 2, 5", "14 rounds". */
function roundList(noisy) {
  if (noisy.length > 12) return plural(noisy.length, "round");
  return `round${noisy.length > 1 ? "s" : ""} ${noisy.map(({ round }) => round).join(", ")}`;
}

function timelineNotes({ kept, timed, noisy, exceeded, absent }) {
  const notes = [];
  if (noisy.length) notes.push(`Noise above a limit: ${roundList(noisy)}. ✕ marks the measurements.`);
  else notes.push("No noise above the limits.");
  if (!noisy.length && exceeded)
    notes.push(
      "✕ marks windows in turns above a limit. Noise affects all services of a window equally, so they count.",
    );
  if (!timed) notes.push("Start times were not saved, so measurements are shown in the order of the plan.");
  if (kept.length > BINS)
    notes.push(`${plural(kept.length, "measurement")} in ${BINS} time steps; each step shows its highest value.`);
  if (absent.length) notes.push(`Not shown: ${absent.map(({ title }) => title.split(",")[0]).join(", ")} (no data).`);
  return notes;
}
