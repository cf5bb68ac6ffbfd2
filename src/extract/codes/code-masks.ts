/** What stands in the place of a masked character: neither letter, digit nor space. */
const mask = "\u0001";

/**
 * The places of web and mail addresses, names of hosts and files, and what looks like one: they hold most of the numbers that look
 * like a code.
 */
export function addressesIn(shape: string): [start: number, end: number][] {
  const places: [start: number, end: number][] = [];
  let done = 0;
  for (const { index } of shape.matchAll(sign)) {
    if (index < done) continue;
    let start = index;
    while (start > done && belongs(shape.charCodeAt(start - 1))) start--;
    let end = index + 1;
    while (end < shape.length && belongs(shape.charCodeAt(end))) end++;
    if (!twoWords.test(shape.slice(start, end))) places.push([start, end]);
    done = end;
  }
  return places;
}

/** The text with these places out of sight; all others stay where they are. */
export function masked(text: string, places: readonly [start: number, end: number][]): string {
  if (places.length === 0) return text;
  const parts: string[] = [];
  let done = 0;
  for (const [start, end] of places) {
    parts.push(text.slice(done, start), mask.repeat(end - start));
    done = end;
  }
  return parts.join("") + text.slice(done);
}

/** A scheme, the middle of a mail address, or a dot between small letters, as hosts and names of files have it. */
const sign = /:\/\/|@|(?<=[a-z0-9])\.[a-z]{2}|(?<=[A-Za-z0-9])\/[A-Za-z]|=[A-Za-z0-9]/g;

/** "PIN/TAN", "BIC/SWIFT" */
const twoWords = /^[A-Za-z]{2,16}\/[A-Za-z]{2,16}[.:]?$/;

/** What an address is made of in practice; brackets and quotes stand around it. */
function belongs(unit: number): boolean {
  return unit > 0x20 && unit < 0x7f && !outside.includes(String.fromCharCode(unit));
}

const outside = "\"<>()[]{}|\\^`',";
