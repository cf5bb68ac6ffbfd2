/*
 * The format mboxrd (RFC 4155, and "mboxrd" of qmail's mbox(5)): all mails in one file. A line before each mail begins with "From ", and an
 * empty line stands behind it. Lines of a mail that look like such a line, also with ">" before, get one ">" more, so that reading takes one
 * away from each.
 */

/** The line before a mail. A mail without a sender, as bounces are, has the sender MAILER-DAEMON. */
export function fromLine(sender: string, at: Date): string {
  const [, weekday, day, month, year, time] = /^(\w+), (\d+) (\w+) (\d+) ([\d:]+)/.exec(at.toUTCString()) ?? [];
  const name = sender.replaceAll(/[^\x21-\x7e]/g, "-") || "MAILER-DAEMON";
  return `From ${name} ${weekday} ${month} ${day?.replace(/^0/, " ")} ${time} ${year}\n`;
}

const mark = new TextEncoder().encode("From ");
const quote = ">".charCodeAt(0);
const newline = "\n".charCodeAt(0);

/** A mail as it stands in the file, with the empty line behind it. The pieces may be cut anywhere. */
export async function* mboxMail(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = new Uint8Array();
  /** Whether the line has had nothing but ">" so far. */
  let isBare = true;
  let last = newline;
  for await (const piece of pieces) {
    const all = left.length === 0 ? piece : Buffer.concat([left, piece]);
    const end = all.length - markBegunAtEnd(all);
    const whole = all.subarray(0, end);
    yield* quoted(whole, isBare);
    isBare = isBareAt(whole, whole.length, isBare);
    last = whole.at(-1) ?? last;
    left = all.slice(end);
  }
  yield left;
  yield Buffer.from((left.at(-1) ?? last) === newline ? "\n" : "\n\n");
}

/** Yields the bytes, with a ">" before each "From " that has nothing but ">" before it in its line. */
function* quoted(bytes: Uint8Array, isBareAtStart: boolean): Generator<Uint8Array> {
  let from = 0;
  const searched = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = searched.indexOf(mark); at >= 0; at = searched.indexOf(mark, at + mark.length)) {
    if (!isBareAt(bytes, at, isBareAtStart)) continue;
    yield bytes.subarray(from, at);
    yield Uint8Array.of(quote);
    from = at;
  }
  yield bytes.subarray(from);
}

function isBareAt(bytes: Uint8Array, end: number, isBareAtStart: boolean): boolean {
  let at = end - 1;
  while (bytes[at] === quote) at -= 1;
  return at < 0 ? isBareAtStart : bytes[at] === newline;
}

/** How many bytes at the end may be the beginning of "From ". */
function markBegunAtEnd(bytes: Uint8Array): number {
  for (let length = Math.min(mark.length - 1, bytes.length); length > 0; length -= 1)
    if (bytes.subarray(bytes.length - length).every((byte, index) => byte === mark[index])) return length;
  return 0;
}
