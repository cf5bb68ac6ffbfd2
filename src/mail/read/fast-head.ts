import type { Named } from "./addresses.ts";
import { isSign, type NotedSigns, noteSign } from "./signs.ts";
import { trimBlanks } from "./white-space.ts";

/** The fields that are read from the header of a mail. */
export interface Listed {
  from: Named | undefined;
  to: Named[];
  cc: Named[];
  replyTo: Named[];
  subject: string | undefined;
  messageId: string | undefined;
  inReplyTo: string | undefined;
  references: string | undefined;
  /** The signs of automated mail (domain/automated.ts). */
  signs: NotedSigns;
}

/**
 * Reads a header in the usual form: ASCII, each field on one line or folded, names without quotes, comments or encoded words. Returns
 * undefined for any other form. The caller then uses readHead, which takes several times as long and gives the same result for this form.
 */
export function fastHead(head: string): Listed | undefined {
  const fields = new Map<string, string[]>();
  const signs: NotedSigns = {};
  for (const line of unfolded(head)) {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0));
    if (!fieldName.test(name) || line.includes("\r") || line.includes("\n")) return undefined;
    const key = name.toLowerCase();
    if (isSign(key)) noteSign(signs, key, trimBlanks(line, colon + 1));
    if (!listed.has(key)) continue;
    const value = trimBlanks(line, colon + 1);
    // The value has an encoded word, or text in ISO-2022-JP, which only readHead decodes.
    if (value.includes("=?") || value.includes("\x1b")) return undefined;
    const values = fields.get(key);
    if (values === undefined) fields.set(key, [value]);
    else values.push(value);
  }
  const from = addressesOf(fields.get("from"));
  const to = addressesOf(fields.get("to"));
  const cc = addressesOf(fields.get("cc"));
  const replyTo = addressesOf(fields.get("reply-to"));
  if (!(from && to && cc && replyTo)) return undefined;
  if (from.length === 0 && fields.has("sender")) return undefined;
  // The first field of a name counts. An empty one counts as missing.
  const textOf = (name: string) => fields.get(name)?.[0] || undefined;
  return {
    from: from[0],
    to,
    cc,
    replyTo,
    subject: textOf("subject"),
    messageId: textOf("message-id"),
    inReplyTo: textOf("in-reply-to"),
    references: textOf("references"),
    signs,
  };
}

/** Unfolds the fields: only line breaks are removed (RFC 5322 §2.2.3). */
function unfolded(head: string): string[] {
  const lines = head.split("\r\n");
  // The split leaves an empty string after the last line, and another after the empty line.
  while (lines.at(-1) === "") lines.pop();
  return head.includes("\r\n ") || head.includes("\r\n\t") ? lines.reduce(fold, []) : lines;
}

function fold(fields: string[], line: string): string[] {
  const isContinued = line.startsWith(" ") || line.startsWith("\t");
  if (isContinued && fields.length > 0) fields.push(`${fields.pop()}${line}`);
  else fields.push(line);
  return fields;
}

function addressesOf(values: readonly string[] = []): Named[] | undefined {
  const addresses: Named[] = [];
  for (const value of values) {
    for (const entry of value === "" ? [] : value.split(",")) {
      const [, name = "", bracketed, bare = ""] = mailbox.exec(entry) ?? [];
      const address = bracketed ?? bare;
      if (address === "") return undefined;
      addresses.push({ name, address });
    }
  }
  return addresses;
}

const listed = new Set([
  "from",
  "sender",
  "to",
  "cc",
  "reply-to",
  "subject",
  "message-id",
  "in-reply-to",
  "references",
]);

const fieldName = /^[A-Za-z0-9-]+$/;

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+";
/** Matches a name, whose words have single spaces between, with an address in brackets, or an address alone with or without brackets. */
const mailbox = new RegExp(`^ ?(?:(?:(${atom}(?: ${atom})*) )?<(${atom}@[A-Za-z0-9.-]+)>|(${atom}@[A-Za-z0-9.-]+)) ?$`);
