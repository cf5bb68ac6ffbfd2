import { garbageOfRows } from "./embedded-garbage.ts";
import { readers, type WireValue } from "./wire.ts";

/**
 * Prepared statements of the embedded engine. There, planning takes ten times as long as on a server, and the engine's own `query` parses
 * and plans at each call. This uses the extended query protocol (PostgreSQL, chapter 55.2.3): Parse once for each text, then Bind,
 * Describe, Execute and Sync in one round trip for each call.
 */
export interface PreparedStatements {
  run(text: string, values: readonly WireValue[]): Promise<object[]>;
}

/** The most prepared statements. The service has fewer texts; if one depends on its parameters, this limits the engine's memory. */
const mostStatements = 500;

/** The part of the engine that is used here. */
interface Engine {
  runExclusive<T>(work: () => Promise<T>): Promise<T>;
  execProtocolStream(message: Uint8Array): Promise<readonly object[]>;
}

export function preparedStatements(engine: Engine): PreparedStatements {
  const countGarbage = garbageOfRows();
  const names = new Map<string, string>();
  /** The names of statements to close with the next call. Closing a statement that does not exist is no error. */
  let abandoned: string[] = [];
  let made = 0;

  function forget(text: string, name: string): void {
    names.delete(text);
    abandoned.push(name);
  }

  return {
    run(text, values) {
      return engine.runExclusive(async () => {
        const known = names.get(text);
        const [oldest] = names;
        if (known === undefined && oldest !== undefined && names.size >= mostStatements) forget(...oldest);
        const closing = abandoned.map((name) => message("C", [letter("S"), cString(name)]));
        abandoned = [];
        made += known === undefined ? 1 : 0;
        const name = known ?? `s${made}`;
        const parse = known === undefined ? [message("P", [cString(name), cString(text), int16(0)])] : [];
        try {
          const answer = await engine.execProtocolStream(
            Buffer.concat([...closing, ...parse, bind(name, values), describePortal, execute, sync]),
          );
          names.set(text, name);
          return rowsOf(answer as readonly ServerMessage[], countGarbage);
        } catch (error) {
          // The statement is forgotten: it may not have been parsed, or a change of the schema may have made its plan invalid.
          forget(text, name);
          throw error;
        }
      });
    },
  };
}

type ServerMessage =
  | { name: "rowDescription"; fields: readonly { name: string; dataTypeID: number }[] }
  | DataRow
  | { name: "" };

interface DataRow {
  name: "dataRow";
  length: number;
  fields: readonly (string | null)[];
}

function rowsOf(messages: readonly ServerMessage[], countGarbage: (row: DataRow) => void): object[] {
  let columns: readonly { name: string; read: ((text: string) => unknown) | undefined }[] = [];
  const rows: object[] = [];
  for (const each of messages) {
    if (each.name === "rowDescription") {
      columns = each.fields.map((field) => ({ name: field.name, read: readers[field.dataTypeID] }));
    } else if (each.name === "dataRow") {
      const values = each.fields.map((text, index) => {
        const read = columns[index]?.read;
        return text === null || read === undefined ? text : read(text);
      });
      rows.push(Object.fromEntries(columns.map(({ name }, index) => [name, values[index]])));
      countGarbage(each);
    }
  }
  return rows;
}

/** Makes the Bind message: text values are sent as text, bytes in binary form. */
function bind(name: string, values: readonly WireValue[]): Uint8Array {
  const parts = [cString(""), cString(name), int16(values.length)];
  for (const value of values) parts.push(int16(value instanceof Uint8Array ? 1 : 0));
  parts.push(int16(values.length));
  for (const value of values) {
    if (value === null) {
      parts.push(int32(-1));
      continue;
    }
    const bytes = typeof value === "string" ? Buffer.from(value) : value;
    parts.push(int32(bytes.length), bytes);
  }
  parts.push(int16(0));
  return message("B", parts);
}

function message(type: string, parts: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(parts);
  return Buffer.concat([letter(type), int32(body.length + 4), body]);
}

function letter(type: string): Uint8Array {
  return Buffer.from(type, "latin1");
}

function cString(text: string): Uint8Array {
  return Buffer.from(`${text}\0`);
}

function int16(value: number): Uint8Array {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function int32(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

const describePortal = message("D", [letter("P"), cString("")]);
const execute = message("E", [cString(""), int32(0)]);
const sync = message("S", []);
