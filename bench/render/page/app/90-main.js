/* Starts everything. Without rankings, the first chart is drawn at once; others when in view, or when printed. */

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
  // If the page begins with rankings, these are its picture: noise comes last, and the charts are folded.
  const more = make("details", { class: "fold" }, make("summary", {}, "Latency, heat map and other charts"));
  if (ALONE.length) answered(more, section).append(loadChoice());
  section.append(grid);
  const drawn = ({ modes }) => !modes.length || ALONE.some((cell) => modes.includes(cell.mode));
  const frames = answered(charts.filter(drawn), charts).map(frame);
  for (const one of frames) {
    if (answered(true, false) && one.figure.id === "chart-timeline") atTheEnd(one);
    else answered(more, grid).append(one.figure);
  }
  if (answered(true, false)) section.append(more);
  performance.mark("before-first-picture");
  for (const one of answered([], frames)) {
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
