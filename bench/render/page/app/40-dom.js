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

/** A table; columns are [name, whether it is numeric], rows are arrays of strings or nodes. Empty columns are left out. */
function tableOf(caption, every, all, captioned = false) {
  const kept = every.map((_, index) => !all.length || all.some((row) => row[index] !== NOTHING));
  const columns = every.filter((_, index) => kept[index]);
  const rows = all.map((row) => row.filter((_, index) => kept[index]));
  const cell = (row, index) => make("td", { class: columns[index][1] ? "figure" : null }, row[index]);
  return make(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    make(
      "table",
      {},
      make("caption", { class: captioned ? null : "visually-hidden" }, caption),
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
