/* The parts in their order. The first picture is drawn at once, the others when they come into sight or are printed. */

function theme() {
  const root = document.documentElement;
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = make("button", { type: "button", id: "theme" });
  const show = () => {
    button.textContent = dark() ? "Light page" : "Dark page";
  };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
  document.querySelector("nav").append(button);
}

/** Links to parts of the page leave the state in the address alone. */
function partLinks() {
  for (const link of document.querySelectorAll(".part-link, .skip"))
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const part = document.querySelector(link.getAttribute("href"));
      part.scrollIntoView();
      part.focus({ preventScroll: true });
    });
}

function draw() {
  const section = document.getElementById("pictures");
  section.hidden = false;
  const grid = make("div", { class: "grid" });
  section.append(grid);
  const frames = pictures.map(frame);
  grid.append(...frames.map(({ figure }) => figure));
  performance.mark("before-first-picture");
  for (const one of frames) {
    one.render();
    if (!one.figure.classList.contains("missing")) break;
  }
  performance.mark("first-picture");
  addEventListener("beforeprint", () => frames.forEach((one) => one.render()));
  let pending = 0;
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(pending);
    pending = setTimeout(() => frames.forEach((one) => one.refresh()), 120);
  });
}

theme();
partLinks();
filters();
draw();
measurements();
published();
