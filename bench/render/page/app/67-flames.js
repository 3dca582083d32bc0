/* Draws the flame graph of each profiled service when it is opened: where its CPU time went, as sampled. */

function flames() {
  const place = document.getElementById("flames");
  if (!place) return;
  for (const one of DATA.flames) place.append(flameOf(one));
  place.hidden = false;
}

function flameOf({ service, load, cost_us, tree }) {
  const plot = make("div", { class: "flame" });
  const under = make("p", { class: "note", "aria-live": "off" });
  const details = make(
    "details",
    {},
    make("summary", {}, `Flame graph of ${service}, ${load}: ${number(cost_us)} µs of CPU per request`),
    plot,
    under,
  );
  details.addEventListener("toggle", () => {
    if (!details.open || plot.firstChild) return;
    const all = tree.v;
    const graph = flamegraph
      .default()
      .width(Math.max(280, plot.clientWidth))
      .cellHeight(19)
      .minFrameSize(1)
      .transitionDuration(0)
      .inverted(true)
      .sort((a, b) => b.value - a.value)
      .label((node) => flameText(node.data, all, cost_us))
      .setDetailsElement(under);
    d3.select(plot).datum(tree).call(graph);
    const svg = plot.querySelector("svg");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Flame graph of ${service}. Widest: ${widestOf(tree).join("; ")}.`);
  });
  return details;
}

/** A function with its share of the CPU time, callees included. */
function flameText({ n, v }, all, cost) {
  return `${n}: ${share(v / all)}, ${number((v / all) * cost)} µs per request`;
}

/** The functions with the most samples, callees excluded. */
function widestOf(tree) {
  const own = new Map();
  const visit = ({ n, v, c = [] }) => {
    own.set(n, (own.get(n) ?? 0) + v - d3.sum(c, (child) => child.v));
    for (const child of c) visit(child);
  };
  visit(tree);
  own.delete(tree.n);
  const found = [...own].sort((a, b) => b[1] - a[1]).slice(0, 5);
  return found.map(([name, samples]) => `${name} ${share(samples / tree.v)}`);
}
