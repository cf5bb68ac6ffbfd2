import type { Db } from "../../database/db.ts";
import type { AddressedMessage } from "../../domain/send/send-facts.ts";
import { headLimits, readHead } from "../../mail/read/head.ts";
import { findChunk } from "../../store/mail/sources.ts";

/** Adds to messages all addresses of their Reply-To. A row has only the first one, so they are read from the raw source. */
export function withAllReplyTos<Message extends AddressedMessage>(
  db: Db,
  messages: readonly Message[],
): Promise<Message[]> {
  return Promise.all(
    messages.map(async (message) => {
      const replyTos = await readReplyTos(db, message);
      return replyTos === undefined ? message : { ...message, replyTos };
    }),
  );
}

/** Reads the addresses in the Reply-To of a mail. Undefined if the mail has none, was sent by us, or has no source any more. */
async function readReplyTos(
  db: Db,
  { direction, replyTo, sourceId }: AddressedMessage,
): Promise<readonly string[] | undefined> {
  if (direction === "outbound" || sourceId === null || replyTo === null) return undefined;
  const first = await findChunk(db, sourceId, 0, 0);
  if (first === undefined) return undefined;
  const block = Buffer.from(first.subarray(0, headLimits.blockBytes));
  const end = /\r?\n\r?\n/.exec(block.toString("latin1"))?.index ?? block.length;
  const { listed } = readHead(block.subarray(0, end), []);
  return listed.replyTo.map(({ address }) => address);
}
