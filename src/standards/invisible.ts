/**
 * Removes characters that people do not see but language models read: tag characters, direction controls, zero-width characters, and
 * variation selectors without effect. Their entities are removed, too, since models decode them.
 */
export function withoutInvisible(text: string): string {
  let rest = withoutCharacters(text);
  if (!rest.includes("&")) return rest;
  // Removing an entity may join its neighbours to another entity. After three rounds, each entity is replaced by a visible character
  // instead.
  for (let round = 0; round < 3; round += 1) {
    const taken = rest.replace(entities, (entity, hex, decimal, name) => (isUnseen(hex, decimal, name) ? "" : entity));
    if (taken === rest) return rest;
    rest = withoutCharacters(taken);
  }
  return rest.replace(entities, (entity, hex, decimal, name) => (isUnseen(hex, decimal, name) ? "\ufffd" : entity));
}

function withoutCharacters(text: string): string {
  if (!unseen.test(text)) return text;
  return text.replace(unseenRuns, "").replace(selectors, (selector, at, whole) => {
    return varies(whole, at, selector) ? selector : "";
  });
}

/**
 * The invisible characters: controls except tab and line ends; soft hyphen, fillers, joiners, direction marks, tags, and others without a
 * glyph.
 */
const unseenClass =
  "\\0-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e00ff}\\u{e01f0}-\\u{e0fff}";
const selectorClass = "\\u180b-\\u180d\\u180f\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}";

const unseen = new RegExp(`[${unseenClass}${selectorClass}]`, "u");
const unseenRuns = new RegExp(`[${unseenClass}]+`, "gu");
const selectors = new RegExp(`[${selectorClass}]`, "gu");

const emoji = /\p{Emoji}$/u;
const ideograph = /\p{Unified_Ideograph}$/u;
const mathematical = /\p{Sm}$/u;
const mongolian = /\p{Script=Mongolian}$/u;

/**
 * True if a variation selector follows a character that has variants. A selector after another selector is removed, so that a row of
 * selectors cannot encode text.
 */
function varies(whole: string, at: number, selector: string): boolean {
  const before = whole.slice(Math.max(0, at - 2), at);
  const point = selector.codePointAt(0) ?? 0;
  if (point === 0xfe0e || point === 0xfe0f) return emoji.test(before);
  if (point >= 0xe0100) return ideograph.test(before);
  if (point === 0xfe00) return mathematical.test(before) || ideograph.test(before);
  return point < 0x2000 && mongolian.test(before);
}

/** The names of HTML entities for invisible characters, which are case-sensitive. */
const unseenNames: ReadonlySet<string> = new Set(
  "shy zwj zwnj lrm rlm ZeroWidthSpace NegativeVeryThinSpace NegativeThinSpace NegativeMediumSpace NegativeThickSpace NoBreak ApplyFunction af InvisibleTimes it InvisibleComma ic".split(
    " ",
  ),
);

const entities = /&(?:#[xX]([0-9a-fA-F]+)|#([0-9]+)|([a-zA-Z]{2,24}));?/g;

function isUnseen(hex: string | undefined, decimal: string | undefined, name: string | undefined): boolean {
  if (name !== undefined) return unseenNames.has(name);
  const point = hex === undefined ? Number.parseInt(decimal ?? "", 10) : Number.parseInt(hex, 16);
  return point <= 0x10ffff && unseen.test(String.fromCodePoint(point));
}
