/**
 * Makes any CSS safe to show. The result adds no words, its sizes do not depend on the height of the frame, and it cannot end the element
 * or the attribute around it. It loads only remote pictures, if `mayFetchPictures` and the page's content security policy allow them.
 */
export function shownCss(css: string, mayFetchPictures: boolean): string {
  const plain = css
    .slice(0, longestCss)
    .replaceAll(comment, " ")
    // A `<` could end the element. A backslash could hide a name from the patterns below, and mail does not need escapes.
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

/** The rest of longer CSS is dropped; real mail has less. */
const longestCss = 256 * 1024;

/** Matches a comment. An unclosed comment reaches to the end, as in browsers. */
const comment = /\/\*(?:[^*]|\*(?!\/))*(?:\*\/)?/g;

const fetching = /\b(url|src|image-set|image|cross-fade|element|expression|attr)\s{0,9}\((?:[^()]{0,500}\))?/gi;
const remoteAddress = /^url\(["']?(https?:\/\/[^\s"'()]{1,480})["']?\)$/i;

/** Splits CSS at each `;`, `{` or `}` outside of strings and brackets (CSS Syntax 3 §5.4). */
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
      // The consumer of a piece may use the same pattern, so the position of the pattern is saved here.
      const end = sign.lastIndex;
      yield { text: css.slice(start, found.index), ending: written };
      start = end;
      sign.lastIndex = end;
    }
  }
  yield { text: css.slice(start), ending: "" };
}

/** Matches strings, and the signs that divide CSS. A string ends at its quote, or at the end of the line. */
const sign = /"[^"\n\r\f]*"?|'[^'\n\r\f]*'?|[;{}()[\]]/g;
const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]" };

/**
 * Makes selectors of the mail's document (`html`, `body`, `:root`) select the element that shows the mail. `:host`, our own element around
 * it, selects nothing.
 */
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

/**
 * Properties that add or reorder words, with which a link could show other words than its HTML has, and properties that run scripts in old
 * browsers.
 */
const notShown: ReadonlySet<string> = new Set(["content", "direction", "unicode-bidi", "behavior", "-moz-binding"]);

const stringOrPicture = /url\("https?:[^"]*"\)|"[^"\n\r\f]*"?|'[^'\n\r\f]*'?/gi;
/** Only these properties keep their strings, which are names of fonts. Others would show them: list marks, quotes, overflow signs. */
const withNames = /^(?:font|font-family)$/;
const withPictures = /^(?:background|background-image|list-style|list-style-image|border-image|border-image-source)$/;

/**
 * Lengths relative to the height of the window. The frame is made as high as its mail, so both would grow forever. Such lengths are
 * computed for a window of 800 pixels.
 */
const heightUnit = /(?<![\w.])((?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?)(?:[sld]?v(?:h|b|min|max)|cq(?:h|b|min|max))\b/gi;
const pixelsPerUnit = 8;
const mostPixels = 100_000;
