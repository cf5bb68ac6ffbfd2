import type { Readable } from "node:stream";
import { Dicer } from "@fastify/busboy";
import { Refusal } from "../../domain/errors.ts";
import { parseFormDisposition } from "../../standards/content-disposition.ts";

/** One part of a form. Its bytes can be read until `take` resolves. */
export interface FormPart {
  name: string;
  filename: string | undefined;
  /** The value of its Content-Type header. */
  contentType: string | undefined;
  bytes: AsyncIterable<Uint8Array>;
}

const mostParts = 200;
const mostHeadBytes = 8192;
/** The most bytes that are parsed but not yet read by `take`. */
const mostUnreadBytes = 256 << 10;

/**
 * Reads a form (RFC 7578) and passes its parts to `take`, one after the other and in order. It reads ahead only within
 * the current chunk of the body. Throws if the body is not a complete form.
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
  const onTaken = () => {
    taken.resolve();
    taken = Promise.withResolvers();
  };
  parser.on("error", () => stop(broken("it ends early, or its boundary is wrong")));
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
        await take({ ...partOf(head as Record<string, string[]>), bytes: notifying(stream, onTaken) });
        unread.delete(stream);
        onTaken();
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
    // Ends the unread parts and waits for `take`, because the caller removes its files after this.
    for (const part of unread) part.destroy();
    await taking.catch(() => undefined);
    throw error;
  }
}

/**
 * The types of Dicer lack the last two settings. `maxHeaderSize` is above our own limit, so that we see headers that
 * are too long. `partHwm` turns off the parser's back-pressure, which can wait forever: if the last chunk leaves more
 * than `partHwm` of a part unread, the parser never calls back the writer of that chunk. `feed` waits instead.
 */
function settingsOf(contentType: string): Dicer.Config {
  const settings = { boundary: boundaryOf(contentType), maxHeaderSize: 2 * mostHeadBytes, partHwm: 1 << 30 };
  return settings;
}

/** Writes the next chunk only when few parsed bytes are unread, so that a slow reader slows the connection down. */
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

/** Yields the chunks of a part. Calls `onTaken` for each, so that the next one is written. */
async function* notifying(bytes: AsyncIterable<Uint8Array>, onTaken: () => void): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    onTaken();
    yield piece;
  }
}

function boundaryOf(contentType: string): string {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"\\]{1,70})"|([^\s;"]{1,70})(?=\s*(?:;|$)))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw broken("its Content-Type has no boundary");
  return boundary;
}

function partOf(head: Record<string, string[]>): Omit<FormPart, "bytes"> {
  const sizeBytes = Object.entries(head).reduce((sum, [name, values]) => sum + lengthOf(name, values), 0);
  if (sizeBytes > mostHeadBytes) throw broken(`the head of a part has more than ${mostHeadBytes} bytes`);
  const disposition = parseFormDisposition(utf8Of(head["content-disposition"]?.[0] ?? ""));
  if (disposition === undefined) throw broken("a part has no name");
  const contentType = head["content-type"]?.[0];
  if (/^\s*multipart\//i.test(contentType ?? "")) throw broken("a part is itself multipart");
  const encoding = head["content-transfer-encoding"]?.[0]?.trim().toLowerCase() ?? "binary";
  if (!["7bit", "8bit", "binary"].includes(encoding))
    throw broken("a part has a Content-Transfer-Encoding, which forms do not use");
  return { ...disposition, contentType };
}

function lengthOf(name: string, values: readonly string[]): number {
  return values.reduce((sum, value) => sum + name.length + value.length + ": \r\n".length, 0);
}

/** Decodes UTF-8, which the parser gives with one character per octet. */
function utf8Of(octets: string): string {
  return Buffer.from(octets, "latin1").toString("utf8");
}

export function broken(why: string): Refusal {
  return new Refusal("invalid_form", `Cannot read form: ${why}`, { headers: { connection: "close" } });
}
