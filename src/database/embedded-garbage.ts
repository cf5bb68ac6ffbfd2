import { edenGC } from "bun:jsc";

/** How many times the octets of an answer are in memory: as they came from the engine's thread, and decoded to text. */
const copies = 2;
/** The memory in bytes that a value needs in addition to its octets. */
const valueBytes = 150;
const mostBytes = 8 << 20;

/**
 * Returns a function that counts the garbage that an answer leaves, and that has it collected after every 8 MB. Otherwise the collector
 * would wait until there is about as much garbage as memory in use: hundreds of megabytes in a long read.
 */
export function garbageOfAnswers(collect: () => unknown = edenGC): (octets: number, values: number) => void {
  let bytes = 0;
  return (octets, values) => {
    bytes += octets * copies + values * valueBytes;
    if (bytes < mostBytes) return;
    bytes = 0;
    // Not at once, because the caller still uses the rows.
    setImmediate(collect);
  };
}
