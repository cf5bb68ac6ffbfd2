import { isHeaderLine } from "./header-block.ts";
import { isDivider, type TextLine, withoutMarkup } from "./reply-lines.ts";
import { forwardBeginnings, ruleWords } from "./rule-words.ts";

/** True for the first line of a forwarded mail: `---------- Forwarded message ---------`, `Begin forwarded message:`, and translations. */
export function beginsForward(line: string): boolean {
  const words = markOf(line);
  if (words === undefined) return false;
  if (words.endsWith(":") && forwardBeginnings.has(withoutMarkup(words.slice(0, -1)))) return true;
  const title = ruledWords(words);
  return (
    title !== undefined &&
    languages.some(({ forwarded, message }) => hasOne(title, forwarded) && hasOne(title, message))
  );
}

/** True for the first line of a quoted mail: `-----Original Message-----`, and translations. */
export function beginsOriginal(line: string): boolean {
  const words = markOf(line);
  const title = words === undefined ? undefined : ruledWords(words);
  if (title === undefined) return false;
  if (title.endsWith(" wrote:")) return true;
  return languages.some(({ original, message }) => hasOne(title, original) && hasOne(title, message));
}

/** The part of a line that may be a mark: a short line as a whole, or the rule before a header block on the same line. */
function markOf(line: string): string | undefined {
  if (line.length <= longestMark && !line.includes(":")) return line;
  const rule = ruleBeforeHead.exec(line)?.[0];
  if (rule !== undefined && isHeaderLine(line.slice(rule.length).trim())) return rule;
  return line.length <= longestMark ? line : undefined;
}

/** True for the line in a help desk's mail above which a reply must be written, such as "reply above this line". */
export function isReplyLimit(words: string): boolean {
  if (words.length > longestMark || beginsWithLetter(words) || !/^[#\-*=–—]{2}/.test(words)) return false;
  return replyLimits.some((limit) => words.includes(limit));
}

/** The number of lines above a quote that belong to it: a line of underscores or dashes, with the blank lines around it. */
export function dividersAbove(lines: readonly TextLine[], from: number): number {
  let at = from - 1;
  while (at >= 0 && lines[at]?.isBlank === true && from - at <= 2) at -= 1;
  const words = lines[at]?.words ?? "";
  return isDivider(words) || ruledTitle.test(words) || notesLine.test(words) ? from - at : 0;
}

/** True for the first line of a mailing list's footer: 30 or more underscores, then at most nine lines to the end, which name the list. */
export function beginsListFooter(lines: readonly TextLine[], from: number, end: number): boolean {
  if (!/^_{30,}$/.test(lines[from]?.words ?? "") || end - from > mostFooterLines) return false;
  if (isHeaderLine(lines[from + 1]?.words ?? "")) return false;
  return lines
    .slice(from + 1, end)
    .some(({ words }) => /mailing list|mailingliste|liste de diffusion|listinfo|unsubscribe/.test(words));
}

const languages = Object.values(ruleWords);

const longestMark = 100;

/** Matches `-------- Original message --------` at the beginning of a line. A header block may follow on the same line. */
const ruleBeforeHead = /^-{5,20}[^-]{1,60}-{5,20}/;
const mostFooterLines = 10;

/** `Jane Doe---03/03/2026 02:05:07 PM---Hi Bob`, which Notes writes above a copied header block. */
const notesLine = /-{3}\d{1,4}[./-]\d{1,2}[./-]\d{2,4} \d{1,2}[:.]\d{2}[^-]{0,20}-{3}/;

/** Matches a title between dashes in any language: `------------------ Original ------------------`. */
const ruledTitle = /^[-‐–—]{10}[-‐–—]{0,50}[^-‐–—]{1,40}[-‐–—]{10}/;

const replyLimits: readonly string[] = [
  "reply above this line",
  "type your reply above",
  "write above this line",
  "oberhalb dieser zeile",
  "au-dessus de cette ligne",
  "encima de esta línea",
  "por encima de esta línea",
  "acima desta linha",
  "sopra questa riga",
  "boven deze regel",
];

/** The words after two or more dashes, without the dashes at the end; undefined without dashes. */
function ruledWords(words: string): string | undefined {
  if (beginsWithLetter(words)) return undefined;
  if (!/^[-*_=‐‑‒–—]{2}/.test(words)) return undefined;
  const title = withoutMarkup(words);
  // "-- Original mail of the year" has no second rule.
  const isRuled = /[-*_=‐‑‒–—]$/.test(words) || /^[-_=‐‑‒–—]{4}/.test(words);
  return title !== "" && isRuled ? title : undefined;
}

/** True for a line that begins with an ASCII letter, as most do: a quick test before the patterns. */
function beginsWithLetter(words: string): boolean {
  const unit = words.charCodeAt(0);
  return unit >= 0x61 && unit <= 0x7a;
}

function hasOne(words: string, stems: readonly string[]): boolean {
  return stems.some((stem) => words.includes(stem));
}
