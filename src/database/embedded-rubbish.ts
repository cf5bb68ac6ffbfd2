import { edenGC } from "bun:jsc";

/** A row as the engine's client gives it. */
interface Row {
  /** Octets on the wire. */
  length: number;
  fields: readonly unknown[];
}

/** On its way a row is copied twice, and then is text. */
const copies = 3;
/** A field is a buffer, a view of it and a string. */
const fieldBytes = 250;
const mostBytes = 8 << 20;

/**
 * The collector lets about as much rubbish gather as there is memory in use, and the engine's own counts as such, though it is never
 * rubbish: a long read would leave hundreds of megabytes behind. So it is counted here what rows have left, and taken away before it is much.
 */
export function rubbishOfRows(collect: () => unknown = edenGC): (row: Row) => void {
  let bytes = 0;
  return ({ length, fields }) => {
    bytes += length * copies + fields.length * fieldBytes;
    if (bytes < mostBytes) return;
    bytes = 0;
    // Behind whoever has the rows now.
    setImmediate(collect);
  };
}
