import { join } from "node:path";
import { textOfHtml } from "../../../src/mail/html/html.ts";
import { visibleTextOf } from "../../../src/mail/html/html-walk.ts";

/** A mail of `mails/` with its expected code. */
export interface CodeMail {
  file: string;
  /** The reason for its row. */
  why: string;
  lang: string;
  subject: string;
  newText: string;
  htmlText: string | undefined;
  /** Undefined for a mail without a code. */
  code: string | undefined;
  shown: string | undefined;
  domain: string | undefined;
  /** The number of codes. */
  count: number | undefined;
  /** The reason for accepting a wrong result. */
  miss: string | undefined;
}

const folder = join(import.meta.dir, "mails");

/**
 * Reads the mails. A mail begins with `===` and its reason, then lines `name: value`, a blank line, the text, and perhaps `<<< html` with
 * HTML, or `<<< quote` with the quote of a reply, which is not part of its new text. A line `miss: why` accepts a wrong result.
 * The mails of `written-later.txt` were written after the rules for `reported.txt` were done: the first run had 29 of its 32 codes and 28
 * of its 32 mails without a code right. Those of `names-before-code.txt` test names before "code": 19 of its 25 codes and 17 of its first
 * 30 mails without a code were right before the list of things was extended.
 */
export async function codeMails(): Promise<CodeMail[]> {
  const files = [...new Bun.Glob("*.txt").scanSync(folder)].toSorted();
  const texts = await Promise.all(files.map((file) => Bun.file(join(folder, file)).text()));
  return files.flatMap((file, index) =>
    (texts[index] ?? "")
      .split(/^=== /m)
      .slice(1)
      .map((mail) => mailOf(file, mail)),
  );
}

function mailOf(file: string, written: string): CodeMail {
  const [first = "", ...rest] = written.split("\n");
  const blank = rest.indexOf("");
  const fields = new Map(
    rest.slice(0, blank).map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
  const body = rest.slice(blank + 1).join("\n");
  const [text = "", html] = body.split(/^<<< html\n/m);
  const newText = text.split(/^<<< quote\n/m)[0] ?? "";
  const code = fields.get("code");
  return {
    file,
    why: first,
    lang: fields.get("lang") ?? "",
    subject: fields.get("subject") ?? "",
    newText: newText.trim() === "" && html !== undefined ? textOfHtml(html) : newText,
    htmlText: html === undefined ? undefined : visibleTextOf(html),
    code: code === "none" ? undefined : code,
    shown: fields.get("shown"),
    domain: fields.get("domain"),
    count: fields.has("count") ? Number(fields.get("count")) : undefined,
    miss: fields.get("miss"),
  };
}
