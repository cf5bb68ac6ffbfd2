import { edenGC } from "bun:jsc";

/** A row as the engine's client returns it. */
interface Row {
  /** The octets on the wire. */
  length: number;
  fields: readonly unknown[];
}

/** How many times the octets of a row are in memory: the row is copied twice, and then decoded to text. */
const copies = 3;
/** The memory in bytes that a field needs in addition to its octets: for a buffer, a view of it and a string. */
const fieldBytes = 250;
const mostBytes = 8 << 20;

/**
 * Returns a function that counts the garbage that a row leaves, and that has it collected after every 8 MB. Otherwise the collector would
 * wait until there is about as much garbage as memory in use, which includes the engine's: hundreds of megabytes in a long read.
 */
export function garbageOfRows(collect: () => unknown = edenGC): (row: Row) => void {
  let bytes = 0;
  return ({ length, fields }) => {
    bytes += length * copies + fields.length * fieldBytes;
    if (bytes < mostBytes) return;
    bytes = 0;
    // Not at once, because the caller still uses the rows.
    setImmediate(collect);
  };
}
