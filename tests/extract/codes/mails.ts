import { join } from "node:path";
import { textOfHtml } from "../../../src/mail/html/html.ts";
import { visibleTextOf } from "../../../src/mail/html/html-walk.ts";

/** A mail of `mails/`, with what is to be found in it. */
export interface CodeMail {
  file: string;
  /** What it is there for. */
  why: string;
  lang: string;
  subject: string;
  newText: string;
  htmlText: string | undefined;
  /** Undefined where there is no code. */
  code: string | undefined;
  shown: string | undefined;
  domain: string | undefined;
  /** How many codes are found. */
  count: number | undefined;
  /** Why it is accepted that the rules have it wrong. */
  miss: string | undefined;
}

const folder = join(import.meta.dir, "mails");

/**
 * Each file holds mails behind `===` and why they are there: lines `name: value`, a blank line, the text, then perhaps `<<< html` and
 * HTML, or `<<< quote` and what a reply quotes, which does not belong to its new text. A line `miss: why` marks what is accepted to be wrong.
 * The mails of `written-later.txt` were written after those of `reported.txt` were mended: at the first try 29 of its 32 codes and 28 of
 * its 32 mails without one came out right. Those of `names-before-code.txt` try what "Acme code" takes for a name: 19 of its 25 codes and
 * 17 of its first 30 mails without one came out right before the list of things was lengthened.
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
