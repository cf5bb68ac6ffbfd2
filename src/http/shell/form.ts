import type { Readable } from "node:stream";
import { Dicer } from "@fastify/busboy";
import { Refusal } from "../../domain/errors.ts";
import { parseFormDisposition } from "../../standards/content-disposition.ts";

/** One part of a form. Its bytes are there to be read until whoever takes it is done with it. */
export interface FormPart {
  name: string;
  filename: string | undefined;
  /** As it stands in its head. */
  contentType: string | undefined;
  bytes: AsyncIterable<Uint8Array>;
}

const mostParts = 200;
const mostHeadBytes = 8192;
/** Of parts that nobody has taken yet. */
const mostUnreadBytes = 256 << 10;

/**
 * Reads a form (RFC 7578) and hands out its parts one after the other, in the order in which they come. Nothing is read ahead of
 * who takes them but what lies in the same piece of the body. Whatever is no form from end to end is refused.
 */
export async function readForm(
  contentType: string,
  body: AsyncIterable<Uint8Array>,
  take: (part: FormPart) => Promise<void>,
): Promise<void> {
  const stopped = Promise.withResolvers<never>();
  stopped.promise.catch(() => undefined);
  const stop = (error: unknown) => stopped.reject(error);
  const parser = new Dicer(settingsOf(contentType));
  const finished = Promise.withResolvers<void>();
  let parts = 0;
  let heads = 0;
  let taking: Promise<unknown> = Promise.resolve();
  let taken = Promise.withResolvers<void>();
  const unread = new Set<Readable>();
  const room = async () => {
    while ([...unread].reduce((sum, part) => sum + part.readableLength, 0) > mostUnreadBytes) await taken.promise;
  };
  const tell = () => {
    taken.resolve();
    taken = Promise.withResolvers();
  };
  parser.on("error", () => stop(broken("it ends early, or its boundary is another")));
  parser.on("finish", finished.resolve);
  parser.on("part", (stream) => {
    stream.on("error", () => stop(broken("it ends in the middle of a part")));
    parts += 1;
    if (parts > mostParts) {
      stop(broken(`it has more than ${mostParts} parts`));
      stream.resume();
      return;
    }
    stream.on("header", (head: object) => {
      heads += 1;
      unread.add(stream);
      taking = taking.then(async () => {
        await take({ ...partOf(head as Record<string, string[]>), bytes: telling(stream, tell) });
        unread.delete(stream);
        tell();
      });
      taking.catch(stop);
    });
  });

  try {
    await Promise.race([feed(parser, body, room, stopped.promise), stopped.promise]);
    await Promise.race([finished.promise, stopped.promise]);
    if (heads < parts) throw broken("a part has no head");
    await Promise.race([taking, stopped.promise]);
  } catch (error) {
    // Who still takes a part is done with it before anybody clears up behind him.
    for (const part of unread) part.destroy();
    await taking.catch(() => undefined);
    throw error;
  }
}

/**
 * Its types lack the last two. A head that is cut there is over our own limit. Of its own accord the parser never waits for who
 * reads a part, since it may then wait for ever: where the last piece leaves more of a part unread than its bound, the end of that part
 * is told as the end of the form, and never to who has written the piece. So it is us who wait.
 */
function settingsOf(contentType: string): Dicer.Config {
  const settings = { boundary: boundaryOf(contentType), maxHeaderSize: 2 * mostHeadBytes, partHwm: 1 << 30 };
  return settings;
}

/** The next piece when the one before is taken, so that a part that nobody reads yet holds up the connection. */
async function feed(
  parser: Dicer,
  body: AsyncIterable<Uint8Array>,
  room: () => Promise<void>,
  stopped: Promise<never>,
): Promise<void> {
  for await (const piece of body) {
    const written = new Promise<void>((resolve) => parser.write(piece, () => resolve()));
    await Promise.race([written.then(room), stopped]);
  }
  parser.end();
}

/** Says of each piece that it has been taken, which makes room for another. */
async function* telling(bytes: AsyncIterable<Uint8Array>, tell: () => void): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    tell();
    yield piece;
  }
}

function boundaryOf(contentType: string): string {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"\\]{1,70})"|([^\s;"]{1,70})(?=\s*(?:;|$)))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw broken("its Content-Type names no boundary");
  return boundary;
}

function partOf(head: Record<string, string[]>): Omit<FormPart, "bytes"> {
  const sizeBytes = Object.entries(head).reduce((sum, [name, values]) => sum + lengthOf(name, values), 0);
  if (sizeBytes > mostHeadBytes) throw broken(`the head of a part has more than ${mostHeadBytes} bytes`);
  const disposition = parseFormDisposition(utf8Of(head["content-disposition"]?.[0] ?? ""));
  if (disposition === undefined) throw broken("a part has no name");
  const contentType = head["content-type"]?.[0];
  if (/^\s*multipart\//i.test(contentType ?? "")) throw broken("a part of it is a form again");
  const encoding = head["content-transfer-encoding"]?.[0]?.trim().toLowerCase() ?? "binary";
  if (!["7bit", "8bit", "binary"].includes(encoding)) throw broken("a part is encoded, which forms are not");
  return { ...disposition, contentType };
}

function lengthOf(name: string, values: readonly string[]): number {
  return values.reduce((sum, value) => sum + name.length + value.length + ": \r\n".length, 0);
}

/** The parser gives octets as characters. */
function utf8Of(octets: string): string {
  return Buffer.from(octets, "latin1").toString("utf8");
}

export function broken(why: string): Refusal {
  return new Refusal("invalid_form", `Cannot read form: ${why}`, { headers: { connection: "close" } });
}
