/** Writes and reads messages of the wire protocol (PostgreSQL, chapter 55.7). */
import { readers, type WireValue } from "./wire.ts";

/** The messages that run a prepared statement: text values are sent as text, bytes in binary form. */
export interface StatementMessages {
  /** The names of statements to close. Closing a statement that does not exist is no error. */
  closing: readonly string[];
  /** The text, if the statement must be parsed first. */
  parse: string | undefined;
  name: string;
  values: readonly WireValue[];
}

/** Writes the messages of a statement into one piece of memory, which the engine's thread takes over. */
export function statementMessages({ closing, parse, name, values }: StatementMessages): Uint8Array<ArrayBuffer> {
  const texts = values.map((value) => (typeof value === "string" ? Buffer.from(value) : value));
  const parseBytes = parse === undefined ? undefined : Buffer.from(parse);
  const closingBytes = closing.reduce((sum, each) => sum + 7 + each.length, 0);
  const bindBytes = texts.reduce((sum, value) => sum + 6 + (value?.length ?? 0), 13 + name.length);
  const all = Buffer.from(
    new ArrayBuffer(
      closingBytes +
        (parseBytes === undefined ? 0 : 9 + name.length + parseBytes.length) +
        bindBytes +
        lastMessages.length,
    ),
  );
  let at = 0;

  function head(type: string, bytes: number): void {
    at = all.writeUInt8(type.charCodeAt(0), at);
    at = all.writeInt32BE(bytes - 1, at);
  }
  function text(value: string): void {
    at += all.write(value, at, "latin1");
    at = all.writeUInt8(0, at);
  }

  for (const each of closing) {
    head("C", 7 + each.length);
    at = all.writeUInt8(statementLetter, at);
    text(each);
  }
  if (parseBytes !== undefined) {
    head("P", 9 + name.length + parseBytes.length);
    text(name);
    all.set(parseBytes, at);
    // The text ends with a zero, and no type of a parameter is given.
    at += parseBytes.length + 3;
  }
  head("B", bindBytes);
  at = all.writeUInt8(0, at);
  text(name);
  at = all.writeInt16BE(texts.length, at);
  for (const value of values) at = all.writeInt16BE(value instanceof Uint8Array ? 1 : 0, at);
  at = all.writeInt16BE(texts.length, at);
  for (const value of texts) {
    at = all.writeInt32BE(value === null ? -1 : value.length, at);
    if (value === null) continue;
    all.set(value, at);
    at += value.length;
  }
  // No format of a column is given, so all of them come as text.
  at = all.writeInt16BE(0, at);
  all.set(lastMessages, at);
  return all as Uint8Array<ArrayBuffer>;
}

/** Writes a message with one or more statements without parameters. */
export function scriptMessage(text: string): Uint8Array<ArrayBuffer> {
  const bytes = Buffer.from(text);
  const all = Buffer.from(new ArrayBuffer(bytes.length + 6));
  all.write("Q", 0);
  all.writeInt32BE(bytes.length + 5, 1);
  all.set(bytes, 5);
  return all as Uint8Array<ArrayBuffer>;
}

const statementLetter = "S".charCodeAt(0);

/** Describe and Execute of the portal, and Sync. */
const lastMessages = Buffer.from("D\0\0\0\x06P\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04", "latin1");

/** The answer to the messages of a statement or a script. */
export interface Answer {
  rows: object[];
  /** The number of columns of a row. */
  columns: number;
  /** The tag of the last command. */
  tag: string;
}

/** An error that the engine reports, with the same fields as an error of the Postgres driver. */
export class EngineError extends Error {
  readonly code: string;
  readonly severity: string | undefined;
  readonly constraint: string | undefined;

  constructor(fields: ReadonlyMap<string, string>) {
    super(fields.get("M"));
    this.name = "EngineError";
    this.code = fields.get("C") ?? "";
    this.severity = fields.get("V") ?? fields.get("S");
    this.constraint = fields.get("n");
  }
}

interface Column {
  name: string;
  read: ((text: string) => unknown) | undefined;
}

/**
 * Reads an answer; throws its first error, or one of its own if the engine has ended before it was ready for the next statement. `onNotify`
 * is called for each notification.
 */
export function readAnswer(answer: Uint8Array, onNotify: (channel: string, payload: string) => void): Answer {
  const bytes = Buffer.from(answer.buffer, answer.byteOffset, answer.length);
  let columns: Column[] = [];
  let error: EngineError | undefined;
  let tag = "";
  let isReady = false;
  const rows: object[] = [];
  for (let at = 0, next: number; at < bytes.length; at = next) {
    next = at + 1 + bytes.readInt32BE(at + 1);
    const type = bytes[at];
    isReady = type === letters.readyForQuery;
    if (type === letters.dataRow) rows.push(rowAt(bytes, at + 7, columns));
    else if (type === letters.rowDescription) columns = columnsAt(bytes, at + 5);
    else if (type === letters.commandComplete) tag = bytes.toString("latin1", at + 5, next - 1);
    else if (type === letters.errorResponse) error ??= new EngineError(fieldsAt(bytes, at + 5));
    else if (type === letters.notification) {
      const [channel = "", payload = ""] = bytes.toString("utf8", at + 9, next).split("\0");
      onNotify(channel, payload);
    }
  }
  if (error !== undefined) throw error;
  if (!isReady) throw new Error("The embedded engine has ended during a statement");
  return { rows, columns: columns.length, tag };
}

const letters = {
  dataRow: 0x44,
  rowDescription: 0x54,
  commandComplete: 0x43,
  errorResponse: 0x45,
  notification: 0x41,
  readyForQuery: 0x5a,
};

function rowAt(bytes: Buffer, start: number, columns: readonly Column[]): object {
  const row: Record<string, unknown> = {};
  let at = start;
  for (const { name, read } of columns) {
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length === -1) {
      row[name] = null;
      continue;
    }
    const text = bytes.toString("utf8", at, at + length);
    row[name] = read === undefined ? text : read(text);
    at += length;
  }
  return row;
}

function columnsAt(bytes: Buffer, start: number): Column[] {
  let at = start + 2;
  return Array.from({ length: bytes.readInt16BE(start) }, () => {
    const end = bytes.indexOf(0, at);
    const name = bytes.toString("utf8", at, end);
    // After the name come the table and the number of the column in it, and then the type.
    const read = readers[bytes.readInt32BE(end + 7)];
    at = end + 19;
    return { name, read };
  });
}

/** Reads the fields of an error: a letter and a text each. */
function fieldsAt(bytes: Buffer, start: number): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = start; bytes[at] !== 0; ) {
    const end = bytes.indexOf(0, at);
    fields.set(bytes.toString("latin1", at, at + 1), bytes.toString("utf8", at + 1, end));
    at = end + 1;
  }
  return fields;
}
