/* Saves the listed rows as a CSV file. */

/** One CSV field. A spreadsheet would run text that begins like a formula; an apostrophe keeps it text. */
function csvField(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const CSV_COLUMNS = [
  "service",
  "server",
  "framework",
  "python",
  "base",
  "settings",
  "scenario",
  "tool",
  "level",
  "mode",
  "goodput",
  "low",
  "high",
  "p99_s",
  "cpu_s",
  "memory_bytes",
  "valid",
  "rounds",
  "state",
];
const CSV_NAMES = {
  goodput: "goodput_per_s",
  low: "goodput_low_per_s",
  high: "goodput_high_per_s",
  cpu_s: "cpu_per_request_s",
  memory_bytes: "memory_loaded_bytes",
  valid: "valid_rounds",
};

function csvOf(cells) {
  const lines = [
    CSV_COLUMNS.map((name) => CSV_NAMES[name] ?? name),
    ...cells.map((cell) => CSV_COLUMNS.map((name) => cell[name])),
  ];
  return lines.map((line) => `${line.map(csvField).join(",")}\r\n`).join("");
}

function downloadCsv(cells) {
  const url = URL.createObjectURL(new Blob([csvOf(cells)], { type: "text/csv" }));
  const name = `${DATA.name.replace(/[^\w.-]+/g, "-")}.csv`;
  make("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  announce(`Saved ${plural(cells.length, "row")} as ${name}`);
}
