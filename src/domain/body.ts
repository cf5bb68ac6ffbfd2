/**
 * True when a caller's `body` is HTML (contract §5.4): it starts as a document does, has a line break, rule or image, or
 * some known element that is both opened and closed. All else is text: `<bob@example.com>`, `a < b`, `List<T>`, "use <code> tags".
 *
 * One walk without going back: a tag ends at its first `>` outside a quoted value, and a `<` before that begins anew.
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

/** No element of the lists has a longer name, and a name ends where the HTML Standard (§13.2.5.8) says so. */
const tagStart = /<(\/?)([a-z][a-z0-9]{0,9})(?=[\s/>])/iy;

const voidElements: ReadonlySet<string> = new Set(["br", "hr", "img"]);
const pairedElements: ReadonlySet<string> = new Set(
  "p div a b i u strong em ul ol li table tr td th h1 h2 h3 h4 h5 h6 span pre code blockquote font center body".split(
    " ",
  ),
);

/** The place of the `>` that ends the tag, or of the `<` that shows it was none, or the end of the text. */
function endOfTag(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== ">" && text[at] !== "<") {
    if (text[at] === "=") at = endOfValue(text, at + 1);
    else at += 1;
  }
  return at;
}

/** Behind a quoted value. A quote that never closes is a character like any other; it is looked for in vain only once. */
function endOfValue(text: string, from: number): number {
  let at = from;
  while (text[at] === " " || text[at] === "\n" || text[at] === "\t" || text[at] === "\r") at += 1;
  const quote = text[at];
  if (quote !== '"' && quote !== "'") return at;
  const close = text.indexOf(quote, at + 1);
  return close < 0 ? at + 1 : close + 1;
}
