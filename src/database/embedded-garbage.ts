import { edenGC } from "bun:jsc";

/** A row of the engine's client. */
interface Row {
  /** The octets on the wire. */
  length: number;
  fields: readonly unknown[];
}

/** A row is copied twice and then decoded to text. */
const copies = 3;
/** The memory of a field: a buffer, a view of it and a string. */
const fieldBytes = 250;
const mostBytes = 8 << 20;

/**
 * Counts the garbage of rows, and collects it early. The collector otherwise waits until there is about as much garbage as memory in
 * use, which includes the engine's, so a long read would leave hundreds of megabytes.
 */
export function garbageOfRows(collect: () => unknown = edenGC): (row: Row) => void {
  let bytes = 0;
  return ({ length, fields }) => {
    bytes += length * copies + fields.length * fieldBytes;
    if (bytes < mostBytes) return;
    bytes = 0;
    // Collects later, after the caller has used the rows.
    setImmediate(collect);
  };
}
