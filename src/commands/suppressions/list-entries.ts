import { isPattern, type SuppressionReason, suppressionReasons } from "../../domain/send/suppressed.ts";
import { parseSendAddress } from "../../standards/address.ts";
import { parseInstant } from "../../standards/instant.ts";
import { recordsOf } from "./csv.ts";

/** One address of a list, as the API takes it. */
export interface ListEntry {
  address: string;
  inboxId?: string;
  reason: SuppressionReason;
  detail?: string;
  createdAt?: string;
  /** Null: never. */
  expiresAt?: string | null;
}

/** A line that is no entry, and why. */
export interface LeftOut {
  line: number;
  why: string;
}

export interface Reading {
  /** What stands for a reason where the list has none that we know. */
  reason: SuppressionReason;
  now: Date;
}

/** The entries of a list, as JSON lines of ours or as the CSV of a provider; which it is its first line tells. */
export async function* listEntries(
  lines: AsyncIterable<string>,
  reading: Reading,
): AsyncGenerator<ListEntry | LeftOut> {
  let columns: Columns | undefined;
  let isJson: boolean | undefined;
  for await (const { line, text, fields } of recordsOf(lines)) {
    if (text.trim() === "") continue;
    isJson ??= text.trimStart().startsWith("{");
    if (isJson) yield entryOf(line, jsonFields(text), reading);
    else if (columns === undefined) columns = columnsOf(fields);
    else yield entryOf(line, fieldsBy(columns, fields), reading);
  }
}

export function isLeftOut(entry: ListEntry | LeftOut): entry is LeftOut {
  return "why" in entry;
}

type Field = "address" | "inboxId" | "reason" | "detail" | "createdAt" | "expiresAt";
type Fields = Partial<Record<Field, string>> & { isForEver?: boolean };

/** As our own lines, SES, SendGrid, Mailgun and Postmark call them. */
const columnNames: Readonly<Record<Field, readonly string[]>> = {
  address: ["address", "email", "emailaddress", "recipient"],
  inboxId: ["inboxid"],
  reason: ["reason", "suppressionreason"],
  detail: ["detail", "error"],
  createdAt: ["createdat", "created_at", "created", "lastupdatetime"],
  expiresAt: ["expiresat"],
};

type Columns = readonly (readonly [Field, number])[];

/** Throws where no column has addresses: then nothing of the list can be meant. */
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

/** Nothing where it is no object of JSON. */
function jsonFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return undefined;
    const known = Object.keys(columnNames);
    const texts = Object.entries(value).filter(([name, field]) => known.includes(name) && typeof field === "string");
    return { ...Object.fromEntries(texts), isForEver: "expiresAt" in value && value.expiresAt === null };
  } catch {
    return undefined;
  }
}

function entryOf(line: number, fields: Fields | undefined, { reason, now }: Reading): ListEntry | LeftOut {
  if (fields === undefined) return { line, why: "it is no line of JSON" };
  const given = fields.address ?? "";
  const address = parseSendAddress(given, given.slice(given.lastIndexOf("@") + 1));
  if (address === undefined) return { line, why: "it has no email address" };
  if (isPattern(address)) return { line, why: "its address is a pattern" };
  const expiresAt = instantOf(fields.expiresAt);
  if (expiresAt !== undefined && expiresAt <= now) return { line, why: "it is over" };
  const known = knownReason(fields.reason);
  // What a provider writes for a reason is often what the server said.
  const detail = fields.detail ?? (known === undefined ? fields.reason : undefined);
  const createdAt = instantOf(fields.createdAt);
  return {
    ...{ address, reason: known ?? reason },
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

/** As RFC 3339 has it, or in seconds since 1970, as SendGrid has it. */
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
