import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { textOfHtml } from "../../src/mail/html/html.ts";

/** A mail of a real program, and its new part. */
export interface ReplyRow {
  file: string;
  name: string;
  isReply: boolean;
  bodyText: string;
  bodyHtml: string | undefined;
  /** The new text. */
  newText: string;
  /** Undefined if the row does not state it. */
  newHtml: string | undefined;
  /** The reason why the rules get this row wrong, if they do. */
  miss: string | undefined;
}

/**
 * The rows of all files in `replies/`. Those of `held-out.txt` were written after the rules were done: the first run had 37 of its 46 right.
 * Those of `written-later.txt` were written after the rules for `reported.txt` were done: the first run had 45 of its 46 right.
 * A row is `@@ name | reply`, its text and HTML (`@@ html`), then the new text (`@@ new`, or `@@ all` if all is new, or `@@ miss why` if the
 * rules get it wrong), and the new HTML (`@@ new html`; `@@ all html`).
 */
export function replyRows(files: readonly string[]): ReplyRow[] {
  return files.flatMap((file) => {
    const parts = `\n${readFileSync(join(folder, file), "utf8").replace(/\n$/, "")}`.split("\n@@ ").slice(1);
    const rows: string[][] = [];
    for (const part of parts) {
      if (/^(?:new|all|miss|html)\b/.test(part)) rows.at(-1)?.push(part);
      else rows.push([part]);
    }
    return rows.map((row) => rowOf(basename(file, ".txt"), row));
  });
}

/** The files of rows, in order of their names. */
export const replyFiles: readonly string[] = readdirSync(join(import.meta.dir, "replies")).toSorted();

const folder = join(import.meta.dir, "replies");

function rowOf(file: string, [first = "", ...others]: readonly string[]): ReplyRow {
  const { title, content } = split(first);
  const [name = "", kind] = title.split(" | ");
  const told = (start: string) =>
    others.map(split).find((part) => part.title === start || part.title.startsWith(start));
  const bodyHtml = others.map(split).find((part) => part.title === "html")?.content;
  const bodyText = content === "" && bodyHtml !== undefined ? textOfHtml(bodyHtml) : content;
  const miss = told("miss ");
  const said = others.map(split).find((part) => part.title === "new" || part.title === "all") ?? miss;
  if (said === undefined) throw new Error(`Cannot read the row "${name}": it does not say what is new`);
  const html = others.map(split).find((part) => part.title === "new html" || part.title === "all html");
  return {
    file,
    name,
    isReply: kind === "reply",
    bodyText,
    bodyHtml,
    newText: said.title === "all" ? bodyText : said.content,
    newHtml: html?.title === "all html" ? bodyHtml : html?.content,
    miss: miss?.title.slice("miss ".length),
  };
}

/** The first line, and the rest. */
function split(part: string): { title: string; content: string } {
  const end = part.indexOf("\n");
  return end < 0
    ? { title: part.trim(), content: "" }
    : { title: part.slice(0, end).trim(), content: part.slice(end + 1) };
}
