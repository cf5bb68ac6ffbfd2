import { Refusal } from "../../domain/errors.ts";
import { utf8Length } from "../../standards/text.ts";

/** What a conversion in another process came to: `unserved` where none was free, which says nothing of the text. */
export type Apart = { kind: "done"; result: string | undefined } | { kind: "ended" } | { kind: "unserved" };

/**
 * Makes HTML of Markdown: here where that can't take long, else by `apart`, in a process that is ended where it does. Undefined where
 * it was, or where the HTML shows nothing or is longer than a caller's own may be: such a mail goes as text alone.
 */
export function markdownReader(apart: (markdown: string, sender: string) => Promise<Apart>) {
  return async (markdown: string, sender: string): Promise<string | undefined> => {
    const html = isQuick(markdown) ? await convertHere(markdown) : await convertApart(markdown, sender);
    return html !== undefined && html.length <= maxHtmlLength && showsSomething(html) ? html : undefined;
  };

  async function convertApart(markdown: string, sender: string): Promise<string | undefined> {
    const outcome = await apart(markdown, sender);
    if (outcome.kind === "unserved") throw busy();
    return outcome.kind === "done" ? outcome.result : undefined;
  }
}

/** Loaded when it is first asked for, since a start and most of the commands have no use for it. */
async function convertHere(markdown: string): Promise<string> {
  const { markdownToHtml } = await import("./markdown.ts");
  return markdownToHtml(markdown);
}

const quickBytes = 16 * 1024;

/** A table has a cell for each of its rows and columns, also where none is written: of a few kilobytes it makes fifty thousand. */
const quickCells = 5_000;

function isQuick(markdown: string): boolean {
  if (utf8Length(markdown) > quickBytes) return false;
  const lines = markdown.split("\n");
  const columns = Math.max(...lines.map((line) => line.split("|").length));
  return lines.length * columns <= quickCells;
}

/** As `bodyHtml` may have. */
const maxHtmlLength = 500_000;

/** Words, a picture or a line. Markdown may be nothing but marks, or targets of links that no word leads to. */
function showsSomething(html: string): boolean {
  return />\s*[^<\s]|<(?:img|hr)\b/.test(html);
}

function busy(): Refusal {
  const why = "too much other text is being converted, and nothing was sent";
  return new Refusal("service_unavailable", `Cannot send: ${why}`, { retryAfterSeconds: 1 });
}
