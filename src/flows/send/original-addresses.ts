import type { Db } from "../../database/db.ts";
import type { AddressedMessage } from "../../domain/send/send-facts.ts";
import { headLimits, readHead } from "../../mail/read/head.ts";
import { findChunk } from "../../store/mail/sources.ts";

/** What of the addresses of a mail that came in is wanted beside what its row says. */
export interface WantedAddresses {
  to: boolean;
  replyTo: boolean;
}

/** The addresses of a mail that came in which its row does not say, from its raw source: its To, and all of its Reply-To. */
export async function originalAddresses(
  db: Db,
  { direction, toAddrs, replyTo, sourceId }: AddressedMessage,
  wanted: WantedAddresses,
): Promise<{ toAddrs?: readonly string[]; replyTos?: readonly string[] }> {
  const wantsTo = wanted.to && toAddrs === null;
  const wantsReplyTo = wanted.replyTo && replyTo !== null;
  if (direction === "outbound" || sourceId === null || !(wantsTo || wantsReplyTo)) return {};
  const first = await findChunk(db, sourceId, 0, 0);
  if (first === undefined) return {};
  const block = Buffer.from(first.subarray(0, headLimits.blockBytes));
  const end = /\r?\n\r?\n/.exec(block.toString("latin1"))?.index ?? block.length;
  const { listed } = readHead(block.subarray(0, end), []);
  const addresses = (of: typeof listed.to) => of.map(({ address }) => address);
  return {
    ...(wantsTo && { toAddrs: addresses(listed.to) }),
    ...(wantsReplyTo && { replyTos: addresses(listed.replyTo) }),
  };
}
