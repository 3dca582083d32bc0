/* How figures are written: at least three significant digits, a unit with each, and a reason where there is none. */

const NOTHING = "–";
const FORMATS = [];

/** 7,140, 833, 32.9, 0.571: as the report's tables have them. */
function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NOTHING;
  if (value === 0) return "0";
  const digits = Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)))));
  FORMATS[digits] ??= new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return FORMATS[digits].format(value);
}

/** 8.8k, 440, 1.2M: where there is no room. */
function brief(value) {
  if (value >= 1e6) return `${number(value / 1e6)}M`;
  return value >= 1e4 ? `${(value / 1e3).toFixed(value >= 1e5 ? 0 : 1)}k` : number(value);
}

/** A tick of an axis: as few digits as it takes. */
const tick = (value) =>
  Math.abs(value) >= 1e4
    ? `${+(value / 1e3).toPrecision(3)}k`
    : (+value.toPrecision(3)).toLocaleString("en-US", { maximumFractionDigits: 6 });

// Controls, marks of direction and what has no width: named, so that a line of raw output shows all that is in it.
const UNSEEN =
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** A value with every text in it made visible. */
function visible(value) {
  if (typeof value === "string")
    return value
      .replaceAll("\r\n", "\n")
      .replace(UNSEEN, (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
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
const signed = (ratio) => known(ratio, (v) => `${v < 0 ? "−" : "+"}${Math.abs(v * 100).toFixed(1)} %`);
const plural = (count, word) => `${count.toLocaleString("en-US")} ${word}${count === 1 ? "" : "s"}`;

/** Sorts c8 before c16. */
const natural = new Intl.Collator("en", { numeric: true }).compare;

/** "64 connections", "500/s asked": what a level's name means. */
function levelWords(level) {
  const knee = /^knee(\d+)?-p99-(\d+)ms$/.exec(level);
  if (knee) return `${knee[1] ? `${knee[1]} % of the knee` : "knee"} at p99 of ${knee[2]} ms`;
  const asked = /^(?:c(\d+))?(?:n(\d+))?(?:r(\d+))?$/.exec(level);
  if (!asked) return level;
  const [, connections, count, perSecond] = asked;
  const words = [];
  if (connections) words.push(plural(Number(connections), "connection"));
  if (count) words.push(plural(Number(count), "request"));
  if (perSecond) words.push(`${Number(perSecond).toLocaleString("en-US")}/s asked`);
  return words.join(", ");
}
