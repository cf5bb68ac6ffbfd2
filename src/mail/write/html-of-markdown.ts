import { Refusal } from "../../domain/errors.ts";
import { utf8Length } from "../../standards/text.ts";

/** The outcome of a conversion in another process: `ended` if the process was killed, `unserved` if none was free. */
export type Conversion = { kind: "done"; result: string | undefined } | { kind: "ended" } | { kind: "unserved" };

/**
 * Converts Markdown to HTML: here if that is quick, otherwise with `inProcess`, in another process that is killed if it takes too long. The
 * result is undefined after that, if the HTML shows nothing, and if it is longer than a `bodyHtml` may be. The mail then has only text.
 */
export function markdownReader(inProcess: (markdown: string, sender: string) => Promise<Conversion>) {
  return async (markdown: string, sender: string): Promise<string | undefined> => {
    const html = isQuick(markdown) ? await convertHere(markdown) : await convertApart(markdown, sender);
    return html !== undefined && html.length <= maxHtmlLength && showsSomething(html) ? html : undefined;
  };

  async function convertApart(markdown: string, sender: string): Promise<string | undefined> {
    const outcome = await inProcess(markdown, sender);
    if (outcome.kind === "unserved") throw busy();
    return outcome.kind === "done" ? outcome.result : undefined;
  }
}

/** Converts in this process. The converter is loaded on first use, since most commands do not need it. */
async function convertHere(markdown: string): Promise<string> {
  const { markdownToHtml } = await import("./markdown.ts");
  return markdownToHtml(markdown);
}

const quickBytes = 16 * 1024;

/**
 * The most table cells that are converted in this process. Missing cells of a row count, too: a few kilobytes of Markdown can make fifty
 * thousand cells.
 */
const quickCells = 5_000;

function isQuick(markdown: string): boolean {
  if (utf8Length(markdown) > quickBytes) return false;
  const lines = markdown.split("\n");
  const columns = Math.max(...lines.map((line) => line.split("|").length));
  return lines.length * columns <= quickCells;
}

/** The limit of `bodyHtml`. */
const maxHtmlLength = 500_000;

/** True if the HTML shows words, a picture or a line. The HTML of Markdown that has only marks, or links without words, shows nothing. */
function showsSomething(html: string): boolean {
  return />\s*[^<\s]|<(?:img|hr)\b/.test(html);
}

function busy(): Refusal {
  const why = "too much other text is being converted, and nothing was sent";
  return new Refusal("service_unavailable", `Cannot send: ${why}`, { retryAfterSeconds: 1 });
}
