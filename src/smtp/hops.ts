const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const received = new TextEncoder().encode("received");

/** A loop of 100 hops fits in a quarter of this; more would only let a mail of empty lines hold the process up. */
const scannedBytes = 256 << 10;

/** How many Received headers a mail carries, counted up to `enough` (loop detection, RFC 5321 §6.3). */
export function hopCount(raw: Uint8Array, enough: number): number {
  const end = Math.min(raw.length, scannedBytes);
  let hops = 0;
  let at = 0;
  while (at < end && hops < enough && raw[at] !== CR && raw[at] !== LF) {
    if (isReceived(raw, at)) hops += 1;
    const lineEnd = raw.indexOf(LF, at);
    if (lineEnd === -1) break;
    at = lineEnd + 1;
  }
  return hops;
}

function isReceived(raw: Uint8Array, at: number): boolean {
  for (let i = 0; i < received.length; i++) {
    // 0x20 is the difference between the cases of an ASCII letter.
    if (((raw[at + i] ?? 0) | 0x20) !== received[i]) return false;
  }
  let end = at + received.length;
  while (raw[end] === 0x20 || raw[end] === 0x09) end += 1;
  return raw[end] === COLON;
}
