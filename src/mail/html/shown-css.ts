/**
 * Makes anybody's CSS safe to show: it fetches nothing, writes no words, and its sizes do not follow the height of the frame. Pictures
 * of other hosts stay where they may be fetched; then the policy of the page decides. Nothing that is left can end the element or the
 * attribute around it.
 */
export function shownCss(css: string, mayFetchPictures: boolean): string {
  const plain = css
    .slice(0, longestCss)
    .replaceAll(comment, " ")
    // An escape can write every other letter, and with it every name below. Mail has none that anybody would miss.
    .replaceAll(/<!--|-->|[\\<]/g, "")
    .replaceAll(/@(?:import|charset|namespace|font-face|counter-style|property)/gi, "@none")
    .replaceAll(fetching, (call, name: string) => {
      const address = mayFetchPictures && name.toLowerCase() === "url" ? remoteAddress.exec(call)?.[1] : undefined;
      return address === undefined ? "none" : `url("${address}")`;
    });
  let shown = "";
  for (const { text, ending } of piecesOf(plain)) {
    shown += (ending === "{" ? shownSelectors(text) : shownDeclaration(text)) + ending;
  }
  return shown;
}

/** No mail has so much of it. */
const longestCss = 256 * 1024;

/** One without an end takes the rest, as it does for browsers. */
const comment = /\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?/g;

const fetching = /\b(url|src|image-set|image|cross-fade|element|expression|attr)\s{0,9}\((?:[^()]{0,500}\))?/gi;
const remoteAddress = /^url\(["']?(https?:\/\/[^\s"'()]{1,480})["']?\)$/i;

/** Text up to a `;`, `{` or `}` that stands in no string and in no brackets (CSS Syntax 3 §5.4), or up to the end. */
function* piecesOf(css: string): Generator<{ text: string; ending: string }> {
  const brackets: string[] = [];
  let start = 0;
  sign.lastIndex = 0;
  for (let found = sign.exec(css); found !== null; found = sign.exec(css)) {
    const [written] = found;
    const opened = closing[written];
    if (opened !== undefined) brackets.push(opened);
    else if (written === brackets.at(-1)) brackets.pop();
    else if (brackets.length === 0 && /^[;{}]$/.test(written)) {
      // The consumer of a piece may use the pattern too, so its position is kept here.
      const end = sign.lastIndex;
      yield { text: css.slice(start, found.index), ending: written };
      start = end;
      sign.lastIndex = end;
    }
  }
  yield { text: css.slice(start), ending: "" };
}

/** A string ends at its quote, or at the end of the line. */
const sign = /"[^"\n\r\f]*"?|'[^'\n\r\f]*'?|[;{}()[\]]/g;
const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]" };

/** The mail's own document is one element of ours, and the element around it is not the mail's. */
function shownSelectors(text: string): string {
  const within = text.replaceAll(/:host/gi, ":none");
  if (within.trimStart().startsWith("@")) return within;
  return within.replaceAll(documentSelector, (_, before: string) => `${before}[data-mail]`);
}

const documentSelector = /(^|[\s,>+~}])(?:(?:html|:root)[\s>]{1,9})?(?:html|body|:root)(?![\w-])/gi;

function shownDeclaration(text: string): string {
  const colon = text.indexOf(":");
  if (colon === -1 || text.trimStart().startsWith("@")) return text;
  const property = text.slice(0, colon).trim().toLowerCase();
  if (notShown.has(property)) return "";
  const value = text
    .slice(colon + 1)
    .replaceAll(stringOrPicture, (written) => {
      if (written.startsWith("url(")) return withPictures.test(property) ? written : "none";
      return withNames.test(property) ? written : '""';
    })
    .replaceAll(heightUnit, (_, number: string) => `${Math.min(Number(number) * pixelsPerUnit, mostPixels)}px`);
  return `${text.slice(0, colon)}:${value}`;
}

/** Properties that add or reorder words, so that a link could show other words than its HTML has, and those that run scripts in old browsers. */
const notShown: ReadonlySet<string> = new Set(["content", "direction", "unicode-bidi", "behavior", "-moz-binding"]);

const stringOrPicture = /url\("https?:[^"]*"\)|"[^"\n\r\f]*"?|'[^'\n\r\f]*'?/gi;
/** Some properties write their strings as words: marks of lists, quotes, the sign of an overflow. Names of fonts stay. */
const withNames = /^(?:font|font-family)$/;
const withPictures = /^(?:background|background-image|list-style|list-style-image|border-image|border-image-source)$/;

/**
 * Lengths that follow the height of the window. A frame is as high as its mail, which would grow with it for ever, so they are taken
 * from a window of 800 pixels.
 */
const heightUnit = /(?<![\w.])((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)(?:[sld]?v(?:h|b|min|max)|cq(?:h|b|min|max))\b/gi;
const pixelsPerUnit = 8;
const mostPixels = 100_000;
