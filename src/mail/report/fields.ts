import { decodeText } from "../read/charset.ts";

/** Fields by name in lower case; the first of a name wins. A Map, since untrusted names are unsafe as keys of an object. */
export type Fields = ReadonlyMap<string, string>;

/** The limits on the bytes and lines that are read, enough for a report about a hundred recipients. */
const mostBytes = 256 * 1024;
const mostLines = 6000;
const mostOfValue = 4096;

/**
 * Groups of fields with empty lines between them (RFC 3464 §2.1). A line that is no field continues the field before it, since some
 * servers omit the white space of folding.
 */
export function fieldGroups(bytes: Uint8Array): Map<string, string>[] {
  const groups: Map<string, string>[] = [];
  let group = new Map<string, string>();
  let last: string | undefined;

  function finish(): void {
    if (group.size > 0) groups.push(group);
    group = new Map();
    last = undefined;
  }

  for (const line of linesOf(bytes)) {
    if (line.trim() === "") {
      finish();
      continue;
    }
    const [, name, value = ""] = field.exec(line) ?? [];
    if (name !== undefined) {
      last = name.toLowerCase();
      // Some servers write no empty line between recipients.
      if (recipientNames.has(last) && group.has(last)) finish();
      if (group.has(last)) last = undefined;
      else group.set(name.toLowerCase(), value.slice(0, mostOfValue).trim());
      last ??= "";
    } else if (last !== undefined && last !== "") {
      const before = group.get(last) ?? "";
      if (before.length < mostOfValue) group.set(last, `${before} ${line.trim()}`.slice(0, mostOfValue));
    }
  }
  finish();
  return groups;
}

const field = /^([A-Za-z][A-Za-z0-9-]{0,60})[ \t]{0,9}:(.*)$/;
const recipientNames: ReadonlySet<string> = new Set(["final-recipient"]);

function linesOf(bytes: Uint8Array): string[] {
  const { buffer, byteOffset, byteLength } = bytes;
  const text = decodeText(Buffer.from(buffer, byteOffset, Math.min(byteLength, mostBytes)));
  return text.split(/\r\n|\r|\n/, mostLines);
}

/** The value of a field without its type (`rfc822; jane@example.com`, `dns; mx.example.com`). */
export function withoutType(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const [, type, rest] = typed.exec(value) ?? [];
  const bare = (type === undefined ? value : (rest ?? "")).trim();
  return bare === "" ? undefined : bare;
}

const typed = /^([a-z0-9_-]{1,40})[ \t]{0,9};(.*)$/is;

/** The address in a recipient field, without brackets, comments and the escapes of RFC 6533 §3. */
export function addressIn(value: string | undefined): string | undefined {
  const bare = withoutType(value);
  if (bare === undefined) return undefined;
  const [, bracketed] = /<([^<>]{1,512})>/.exec(bare) ?? [];
  const address = (bracketed ?? bare.split(/[ \t(]/, 1)[0] ?? "").replace(unicodeEscape, (_, digits) =>
    String.fromCodePoint(Math.min(Number.parseInt(digits, 16), 0x10ffff)),
  );
  return address === "" ? undefined : address.replace(/^["']|["',;]$/g, "").toWellFormed();
}

const unicodeEscape = /\\x\{([0-9a-f]{1,6})\}/gi;
