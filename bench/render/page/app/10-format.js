/* Formats values as text: numbers with at least three significant digits, units, unprintable characters, load levels. */

const NOTHING = "–";
const FORMATS = [];

/** 7,140, 833, 32.9, 0.571: the format of the report's tables. */
function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  if (value === 0) return "0";
  const digits = Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
  FORMATS[digits] ??= new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return FORMATS[digits].format(value);
}

/** 8.8k, 440, 1.2M: for tight spaces. */
function brief(value) {
  if (value >= 1e6) return `${number(value / 1e6)}M`;
  return value >= 1e4 ? `${(value / 1e3).toFixed(value >= 1e5 ? 0 : 1)}k` : number(value);
}

/** An axis tick, with as few digits as possible. */
const tick = (value) =>
  Math.abs(value) >= 1e4
    ? `${+(value / 1e3).toPrecision(3)}k`
    : (+value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 6 });

// Control, bidirectional and zero-width characters: shown by code point, so that raw output hides nothing.
const UNPRINTABLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: matching control characters is the purpose
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** The value with the unprintable characters of every string in it made visible. */
function visible(value) {
  if (typeof value === "string")
    return value
      .replaceAll("\r\n", "\n")
      .replace(UNPRINTABLE, (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
  if (Array.isArray(value)) return value.map(visible);
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [visible(key), visible(one)]));
  return value;
}

const known = (value, write) => (value === null || value === undefined ? NOTHING : write(value));
const rate = (value) => known(value, (v) => `${number(v)}/s`);
const milliseconds = (seconds) => known(seconds, (v) => `${number(v * 1e3)} ms`);
const megabytes = (bytes) => known(bytes, (v) => `${number(v / 1e6)} MB`);
const share = (ratio) => known(ratio, (v) => `${(v * 100).toFixed(1)} %`);
const plural = (count, word) => `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;

/** Sorts c8 before c16. */
const natural = new Intl.Collator("en", { numeric: true }).compare;
