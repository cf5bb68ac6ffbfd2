/**
 * True if a caller's `body` is HTML (contract §5.4): it starts like a document, has a line break, rule or image, or has a known element with
 * a start and an end tag. Everything else is text: `<bob@example.com>`, `a < b`, `List<T>`, "use <code> tags".
 *
 * The text is read in one pass without backtracking. A tag ends at its first `>` outside of a quoted value; a `<` before that `>` begins
 * another tag.
 */
export function isHtml(text: string): boolean {
  if (documentStart.test(text)) return true;
  const opened = new Set<string>();
  let at = text.indexOf("<");
  while (at >= 0) {
    tagStart.lastIndex = at;
    const [start = "", slash = "", tagName = ""] = tagStart.exec(text) ?? [];
    const name = tagName.toLowerCase();
    at += start.length;
    if (voidElements.has(name) || pairedElements.has(name)) {
      at = endOfTag(text, at);
      if (text[at] === ">") {
        if (slash === "" && voidElements.has(name)) return true;
        if (slash !== "" && opened.has(name)) return true;
        if (slash === "") opened.add(name);
      }
    }
    at = text.indexOf("<", start === "" ? at + 1 : at);
  }
  return false;
}

const documentStart = /^\s*<(?:!doctype\s+html|html)(?=[\s/>]|$)/i;

/** The start of a tag. The names in the lists below have at most ten letters. A name ends as in the HTML Standard (§13.2.5.8). */
const tagStart = /<(\/?)([a-z][a-z0-9]{0,9})(?=[\s/>])/iy;

const voidElements: ReadonlySet<string> = new Set(["br", "hr", "img"]);
const pairedElements: ReadonlySet<string> = new Set(
  "p div a b i u strong em ul ol li table tr td th h1 h2 h3 h4 h5 h6 span pre code blockquote font center body".split(
    " ",
  ),
);

/** The offset of the `>` that ends the tag. If there is none before the next `<`: the offset of that `<`, or the end of the text. */
function endOfTag(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== ">" && text[at] !== "<") {
    if (text[at] === "=") at = endOfValue(text, at + 1);
    else at += 1;
  }
  return at;
}

/** Skips white space and a quoted value, and returns the offset after them. An unclosed quote is skipped like an ordinary character. */
function endOfValue(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\t" || text[at] === "\r") at += 1;
  const quote = text[at];
  if (quote !== '"' && quote !== "'") return at;
  const close = text.indexOf(quote, at + 1);
  return close < 0 ? at + 1 : close + 1;
}
