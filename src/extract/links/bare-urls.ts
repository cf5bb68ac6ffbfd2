/** An address in a plain text, with its words if it is a Markdown link. */
export interface BareUrl {
  written: string;
  words: string;
}

/**
 * The addresses of a plain text, in order. They end before punctuation that ends a sentence, before a closing bracket that was opened
 * outside, and before closing quotes of any script. `[words](address)` is read as Markdown.
 */
export function* bareUrls(text: string): Generator<BareUrl> {
  const scheme = /(?<![a-z0-9])https?:\/\//gi;
  for (let match = scheme.exec(text); match !== null; match = scheme.exec(text)) {
    const start = match.index;
    const end = endOfRun(text, start);
    scheme.lastIndex = end;
    if (end - start > longestRun) continue;
    const words = markdownWords(text, start);
    const run = text.slice(start, end);
    yield { written: words === undefined ? trimmed(run) : beforeClosing(run), words: words ?? "" };
  }
}

/** Longer addresses are skipped. The limit is twice `longestUrl` in `links.ts`, because normalizing may shorten an address. */
const longestRun = 4096;

function endOfRun(text: string, start: number): number {
  const stop = /[\s<>"\p{Cc}`|\\^{}。、，；：！？「」『』【】《》〈〉“”„«»（）]/gu;
  stop.lastIndex = start;
  return stop.exec(text)?.index ?? text.length;
}

/** The words of `[words](` right before an address. */
function markdownWords(text: string, start: number): string | undefined {
  const bracket = text[start - 1] === "<" ? start - 1 : start;
  if (!text.startsWith("](", bracket - 2)) return undefined;
  const line = text.slice(Math.max(0, bracket - 2 - longestWords), bracket - 2);
  const open = line.lastIndexOf("[");
  const words = line.slice(open + 1);
  return open < 0 || words.includes("\n") ? undefined : words.trim();
}

const longestWords = 300;

/** Cuts the address of a Markdown link before the bracket that closes the link. */
function beforeClosing(run: string): string {
  let depth = 0;
  for (let at = 0; at < run.length; at++) {
    if (run[at] === "(") depth++;
    else if (run[at] === ")" && depth-- === 0) return run.slice(0, at);
  }
  return run;
}

function trimmed(run: string): string {
  const surplus = new Map<string, number>();
  for (const [open, close] of brackets) {
    surplus.set(close, run.split(close).length - run.split(open).length);
  }
  let end = run.length;
  for (;;) {
    const last = run[end - 1] ?? "";
    const more = surplus.get(last);
    if (more !== undefined && more > 0) surplus.set(last, more - 1);
    else if (more !== undefined || !closing.test(last)) return run.slice(0, end);
    end--;
  }
}

const brackets: readonly [open: string, close: string][] = [
  ["(", ")"],
  ["[", "]"],
];

const closing = /[.,:;!?'*~…\p{Pf}\p{Pi}\p{Pe}。．，、！？；：؟؛،।॥]/u;
