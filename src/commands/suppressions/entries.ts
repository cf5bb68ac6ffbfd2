import { isPattern, type SuppressionReason, suppressionReasons } from "../../domain/send/suppressed.ts";
import { parseSendAddress } from "../../standards/address.ts";
import { parseInstant } from "../../standards/instant.ts";
import { jsonFields } from "../../standards/json.ts";

/** One address of a list, as the API accepts it. */
export interface ListEntry {
  address: string;
  inboxId?: string;
  reason: SuppressionReason;
  detail?: string;
  createdAt?: string;
  /** Null: the suppression does not expire. */
  expiresAt?: string | null;
}

/** A line without a valid entry, and the reason. */
export interface LeftOut {
  line: number;
  why: string;
}

export interface Reading {
  /** The reason of entries that have none of the known reasons. */
  reason: SuppressionReason;
  now: Date;
}

/** The entries of a list: our JSON lines, or the CSV of a provider. The first line decides which. */
export async function* listEntries(
  lines: AsyncIterable<string>,
  reading: Reading,
): AsyncGenerator<ListEntry | LeftOut> {
  let columns: Columns | undefined;
  let isJson: boolean | undefined;
  for await (const { line, text, fields } of recordsOf(lines)) {
    if (text.trim() === "") continue;
    isJson ??= text.trimStart().startsWith("{");
    if (isJson) yield entryOf(line, knownFields(text), reading);
    else if (columns === undefined) columns = columnsOf(fields);
    else yield entryOf(line, fieldsBy(columns, fields), reading);
  }
}

export function isLeftOut(entry: ListEntry | LeftOut): entry is LeftOut {
  return "why" in entry;
}

type Field = "address" | "inboxId" | "reason" | "detail" | "createdAt" | "expiresAt";
type Fields = Partial<Record<Field, string>> & { isForEver?: boolean };

/** The names of the columns in our own lines, and in the lists of SES, SendGrid, Mailgun and Postmark. */
const columnNames: Readonly<Record<Field, readonly string[]>> = {
  address: ["address", "email", "emailaddress", "recipient"],
  inboxId: ["inboxid"],
  reason: ["reason", "suppressionreason"],
  detail: ["detail", "error"],
  createdAt: ["createdat", "created_at", "created", "lastupdatetime"],
  expiresAt: ["expiresat"],
};

type Columns = readonly (readonly [Field, number])[];

/** Throws if no column has addresses. */
function columnsOf(header: readonly string[]): Columns {
  const names = header.map((name) =>
    name
      .replace(/^\ufeff/, "")
      .trim()
      .toLowerCase(),
  );
  const columns = Object.entries(columnNames).flatMap(([field, known]) => {
    const at = names.findIndex((name) => known.includes(name));
    return at < 0 ? [] : [[field as Field, at] as const];
  });
  if (columns.some(([field]) => field === "address")) return columns;
  throw new Error(
    "Cannot import: the list has no column of addresses: address, email, EmailAddress, recipient or Recipient",
  );
}

function fieldsBy(columns: Columns, values: readonly string[]): Fields {
  return Object.fromEntries(
    columns.flatMap(([field, at]) => (values[at]?.trim() ? [[field, values[at]?.trim()]] : [])),
  );
}

/** The known fields of a JSON object; undefined for any other text. */
function knownFields(text: string): Fields | undefined {
  const fields = jsonFields(text);
  if (fields === undefined) return undefined;
  const known = Object.keys(columnNames);
  const texts = Object.entries(fields).filter(([name, field]) => known.includes(name) && typeof field === "string");
  return { ...Object.fromEntries(texts), isForEver: fields.expiresAt === null };
}

function entryOf(line: number, fields: Fields | undefined, { reason, now }: Reading): ListEntry | LeftOut {
  if (fields === undefined) return { line, why: "it is not a JSON object" };
  const given = fields.address ?? "";
  const address = parseSendAddress(given, given.slice(given.lastIndexOf("@") + 1));
  if (address === undefined) return { line, why: "it has no email address" };
  if (isPattern(address)) return { line, why: "its address is a pattern" };
  const expiresAt = instantOf(fields.expiresAt);
  if (expiresAt !== undefined && expiresAt <= now) return { line, why: "it has expired" };
  const known = knownReason(fields.reason);
  // An unknown reason becomes the detail: a provider often gives the reply of a mail server as the reason.
  const detail = fields.detail ?? (known === undefined ? fields.reason : undefined);
  const createdAt = instantOf(fields.createdAt);
  return {
    address,
    reason: known ?? reason,
    ...(fields.inboxId !== undefined && { inboxId: fields.inboxId }),
    ...(detail !== undefined && { detail: shortened(detail) }),
    ...(createdAt !== undefined && { createdAt: createdAt.toISOString() }),
    ...(expiresAt !== undefined && { expiresAt: expiresAt.toISOString() }),
    ...(fields.isForEver && { expiresAt: null }),
  };
}

function knownReason(text = ""): SuppressionReason | undefined {
  const word = text.toLowerCase().replace(/^(?:hard|spam)|(?:suppression|d)$/g, "");
  return suppressionReasons.find((reason) => reason === word);
}

/** Accepts RFC 3339, and seconds since 1970, which SendGrid writes. */
function instantOf(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  return /^\d{9,10}$/.test(text) ? new Date(Number(text) * 1000) : parseInstant(text);
}

const longestDetail = 500;

function shortened(text: string): string {
  const clean = text.replaceAll("\0", "").toWellFormed();
  return Array.from(clean.slice(0, 2 * longestDetail))
    .slice(0, longestDetail)
    .join("");
}

/** A record of a list: the number of its first line, its text, and its CSV fields. */
interface CsvRecord {
  line: number;
  text: string;
  fields: string[];
}

/** The most lines of one record, so that an unclosed quote does not take the whole rest of the list. */
const mostLines = 100;

/** The records of a text (RFC 4180): a field in quotes may contain commas, doubled quotes and line ends. */
async function* recordsOf(lines: AsyncIterable<string>): AsyncGenerator<CsvRecord> {
  let line = 0;
  let begun: { line: number; texts: string[] } | undefined;
  for await (const raw of lines) {
    line += 1;
    const record = begun ?? { line, texts: [] };
    record.texts.push(raw.replace(/\r$/, ""));
    const text = record.texts.join("\n");
    const isJson = text.trimStart().startsWith("{");
    // An odd number of quotes means that a quoted field goes on.
    const isOpen = !isJson && record.texts.length < mostLines && text.split('"').length % 2 === 0;
    begun = isOpen ? record : undefined;
    if (!isOpen) yield { line: record.line, text, fields: isJson ? [] : fieldsOf(text) };
  }
  if (begun !== undefined) {
    const text = begun.texts.join("\n");
    yield { line: begun.line, text, fields: fieldsOf(text) };
  }
}

function fieldsOf(text: string): string[] {
  const fields: string[] = [];
  let at = 0;
  while (at <= text.length) {
    const end = text[at] === '"' ? endOfQuoted(text, at) : at;
    const comma = text.indexOf(",", end);
    const stop = comma < 0 ? text.length : comma;
    const field = text.slice(at, stop);
    fields.push(field.startsWith('"') ? field.slice(1, Math.max(1, end - at - 1)).replaceAll('""', '"') : field);
    at = stop + 1;
  }
  return fields;
}

/** The index after the closing quote of the field that begins at `from`, or the end of the text if it is not closed. */
function endOfQuoted(text: string, from: number): number {
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return text.length;
    if (text[quote + 1] !== '"') return quote + 1;
    at = quote + 2;
  }
}
