/* Creates elements and tables. Text of a run is only ever inserted as text, never parsed as HTML. */

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

/** Announces the text to screen readers. */
function announce(text) {
  document.getElementById("status").textContent = text;
}

/** A table; columns are [name, whether it is numeric], rows are arrays of strings or nodes. */
function tableOf(caption, columns, rows) {
  const cell = (row, index) => make("td", { class: columns[index][1] ? "figure" : null }, row[index]);
  return make(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    make(
      "table",
      {},
      make("caption", { class: "visually-hidden" }, caption),
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ...columns.map(([name, figure]) => make("th", { scope: "col", class: figure ? "figure" : null }, name)),
        ),
      ),
      make("tbody", {}, ...rows.map((row) => make("tr", {}, ...columns.map((_, index) => cell(row, index))))),
    ),
  );
}
