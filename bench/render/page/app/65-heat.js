/* Draws goodput by server and framework as a heat map. */

chart(
  "heat",
  "Goodput by server and framework",
  "Successful responses per second of each combination; darker is higher. Hatched: not valid. Empty: not measured under this load.",
  (width) => {
    const { cells, first } = chartedCells();
    if (!first) return { missing: NO_SOLO };
    if (first.open) return { missing: OPEN_LOOP };
    const variant = (cell) => [cell.python, cell.base].join(" · ");
    const counts = d3.rollup(cells, (group) => group.length, variant);
    const chosen = [...counts].sort((a, b) => b[1] - a[1] || natural(b[0], a[0]))[0][0];
    const shown = cells.filter((cell) => variant(cell) === chosen && !cell.package && !cell.settings);
    const servers = [...new Set(shown.map((cell) => cell.server))].sort(natural);
    const frameworks = [...new Set(shown.map((cell) => cell.framework))].sort(natural);
    if (servers.length < 2 && frameworks.length < 2)
      return { missing: "a heat map needs at least two servers or two frameworks." };
    const valid = shown.filter((cell) => cell.valid);
    const [low, high] = d3.extent(valid, (cell) => cell.goodput);
    const part = (cell) => (high > low ? Math.log(cell.goodput / low) / Math.log(high / low) : 0.5);
    const ramp = d3.interpolateRgbBasis(["#edf4fa", "#b5d3ea", "#5d9fce", "#14598f", "#062f52"]);
    const narrow = width < NARROW;
    const marginLeft = Math.min(width * 0.34, widest(servers) + 12);
    // A cell needs room for its number: many frameworks on a narrow screen scroll sideways.
    const full = Math.max(width, marginLeft + frameworks.length * 30);
    const step = (full - marginLeft) / frameworks.length;
    const tilt = widest(frameworks) > step - 6;
    const size = Math.max(8, Math.min(12, step / 4.4));
    const marginTop = tilt ? Math.min(120, widest(frameworks) * 0.75 + 16) : 26;
    const textColour = (cell) => (part(cell) > 0.55 ? "#ffffff" : "#10151a");
    const map = Plot.plot({
      width: full,
      height: marginTop + servers.length * 34 + 6,
      marginLeft,
      marginTop,
      marginRight: tilt ? 24 : 0,
      marginBottom: 6,
      style: STYLE,
      x: {
        type: "band",
        domain: frameworks,
        axis: "top",
        label: null,
        tickSize: 0,
        tickRotate: tilt ? -40 : 0,
        padding: 0.04,
      },
      y: {
        type: "band",
        domain: servers,
        label: null,
        tickSize: 0,
        tickFormat: (name) => clip(name, marginLeft - 10),
        padding: 0.06,
      },
      marks: [
        hatch("hatch-heat"),
        Plot.cell(valid, {
          x: "framework",
          y: "server",
          fill: (cell) => ramp(part(cell)),
          title: (cell) => `${cell.server} · ${cell.framework}: ${rate(cell.goodput)}`,
        }),
        Plot.cell(
          shown.filter((cell) => !cell.valid),
          {
            x: "framework",
            y: "server",
            fill: "url(#hatch-heat)",
            stroke: "var(--line)",
            title: (cell) => `${cell.server} · ${cell.framework}: ${cell.state}`,
          },
        ),
        Plot.text(valid, {
          x: "framework",
          y: "server",
          text: (cell) => brief(cell.goodput),
          fill: textColour,
          fontSize: size,
        }),
        Plot.text(
          shown.filter((cell) => !cell.valid),
          {
            x: "framework",
            y: "server",
            text: () => (step > 56 ? "✕ not valid" : "✕"),
            fill: INK,
            stroke: "var(--paper)",
            strokeWidth: 4,
            fontSize: narrow ? size : 11,
          },
        ),
      ],
      color: { type: "identity" },
    });
    if (full > width) map.style.maxWidth = "none";
    const drawing = full > width ? make("div", { class: "scroll", tabindex: 0 }, map) : map;
    const rest = cells.length - shown.length;
    return {
      drawing,
      notes: [
        `Shown: ${loadText(first)}, Python ${chosen.replace(" · ", ", ")}, in requests/s.${rest ? ` ${plural(rest, "other service")} under this load ${rest === 1 ? "uses" : "use"} another Python version, base, package or settings; use the filters to chart them.` : ""}`,
      ],
      alt: `${loadText(first)}, ${chosen}. ${valid
        .slice(0, 6)
        .map((cell) => `${cell.server} with ${cell.framework} ${rate(cell.goodput)}`)
        .join("; ")}. ${shown.length - valid.length} not valid.`,
      columns: [["server"], ...frameworks.map((name) => [name, true])],
      rows: servers.map((server) => [
        server,
        ...frameworks.map((name) => {
          const cell = shown.find((one) => one.server === server && one.framework === name);
          return cell ? (cell.valid ? number(cell.goodput) : cell.state) : NOTHING;
        }),
      ]),
    };
  },
);
