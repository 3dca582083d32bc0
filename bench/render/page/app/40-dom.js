/* Elements are made of text alone: nothing of a run is ever read as HTML. */

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function say(words) {
  document.getElementById("status").textContent = words;
}

/** A table; columns are [name, whether it holds figures], rows arrays of words or nodes. */
function tableOf(caption, columns, rows) {
  const cell = (row, place) => make("td", { class: columns[place][1] ? "figure" : null }, row[place]);
  return make(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    make(
      "table",
      {},
      make("caption", { class: "unseen" }, caption),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ...columns.map(([name, figure]) => make("th", { scope: "col", class: figure ? "figure" : null }, name)),
        ),
      ),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...columns.map((_, place) => cell(row, place))))),
    ),
  );
}
