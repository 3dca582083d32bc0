/* Starts everything. The first chart is drawn at once, the others when they scroll into view or are printed. */

function theme() {
  const root = document.documentElement;
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = make("button", { type: "button", id: "theme" });
  const show = () => {
    button.textContent = dark() ? "Light theme" : "Dark theme";
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
  document.querySelector("nav").append(button);
}

/** Links to sections scroll there without replacing the state in the URL. */
function sectionLinks() {
  for (const link of document.querySelectorAll(".section-link, .skip"))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const section = document.querySelector(link.getAttribute("href"));
      section.scrollIntoView();
      section.focus({ preventScroll: true });
    });
}

function drawCharts() {
  const section = document.getElementById("charts");
  section.hidden = false;
  const grid = make("div", { class: "grid" });
  if (ALONE.length) section.append(loadChoice());
  section.append(grid);
  const frames = charts.map(frame);
  // If the page begins with rankings, noise comes last, and all charts but the first are folded.
  const more = make("details", { class: "fold" }, make("summary", {}, "Latency, cost and other charts"));
  for (const [place, one] of frames.entries()) {
    if (answered(true, false) && one.figure.id === "chart-timeline") atTheEnd(one);
    else (answered(place > 0, false) ? more : grid).append(one.figure);
  }
  if (more.childElementCount > 1) section.append(more);
  performance.mark("before-first-picture");
  for (const one of frames) {
    one.render();
    if (!one.figure.classList.contains("missing")) break;
  }
  performance.mark("first-picture");
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details.fold")) one.open = true;
    for (const one of frames) one.render();
  });
  let pending = 0;
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(pending);
    pending = setTimeout(() => {
      for (const one of frames) one.refresh();
    }, 120);
  });
}

/** Puts the chart of noise at the end, folded; it is drawn when opened, since only then its width is known. */
function atTheEnd({ figure, refresh }) {
  const details = document.getElementById("noise");
  details.append(figure);
  details.addEventListener("toggle", refresh);
  details.hidden = false;
}

theme();
sectionLinks();
events();
// A run of events alone has nothing to filter and no charts.
if (document.getElementById("charts")) {
  filters();
  rankings();
  pair();
  drawCharts();
  flames();
  measurements();
}
reportTables();
