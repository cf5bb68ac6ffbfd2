import type { Db } from "../../database/db.ts";
import type { SendRequest } from "../../domain/send/send.ts";
import { type AddressedMessage, isAddressedByReply } from "../../domain/send/send-facts.ts";
import { headLimits, readHead } from "../../mail/read/head.ts";
import { findChunk } from "../../store/mail/sources.ts";

/** With the addresses that only the source of a message says, where replies go to them. */
export function withOriginal<Message extends AddressedMessage>(
  db: Db,
  requests: readonly SendRequest[],
  messages: readonly Message[],
): Promise<Message[]> {
  const wanted = { to: requests.some(({ replyAll }) => replyAll === true), replyTo: requests.some(isAddressedByReply) };
  return Promise.all(
    messages.map(async (message) => ({ ...message, ...(await originalAddresses(db, message, wanted)) })),
  );
}

/** The address fields to read from the raw source, since the row of an inbound mail does not have them whole. */
interface WantedAddresses {
  to: boolean;
  replyTo: boolean;
}

/** The addresses of a mail that came in which its row does not say, from its raw source: its To, and all of its Reply-To. */
async function originalAddresses(
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
