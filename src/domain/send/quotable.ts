import { parseSendAddress } from "../../standards/address.ts";
import type { Recipient } from "./recipients/entries.ts";
import { isOwnAddress } from "./recipients/own-address.ts";
import type { SendRequest } from "./send.ts";
import type { MessageParties } from "./send-facts.ts";

/**
 * The newest message that a recipient of the reply wrote or got (contract §5.5): the reply must not show its readers a message that was
 * only between others. `messages` are newest first. Recipients of a blind copy do not count, because the others read the quote too. Our
 * own address does not count, because it got everything. A mail only to ourselves quotes the newest message.
 */
export function lastShared<Message extends MessageParties>(
  messages: readonly Message[],
  recipients: readonly Pick<Recipient, "address" | "type">[],
  ownAddresses: readonly string[],
): Message | undefined {
  const readers = recipients
    .filter(({ type, address }) => type !== "bcc" && !isOwnAddress(address, ownAddresses))
    .map(({ address }) => address.toLowerCase());
  if (readers.length === 0) return messages[0];
  return messages.find((message) => partiesOf(message).some((party) => readers.includes(party)));
}

/** Whether a reply in a thread has a quote, but the request does not name the message to quote. */
export function quotesLast({ threadId, includeQuote, readUpToMessageId, replyToMessageId }: SendRequest): boolean {
  return threadId !== undefined && includeQuote && readUpToMessageId === undefined && replyToMessageId === undefined;
}

function partiesOf({ fromAddr, replyTo, toAddr, toAddrs, cc, bcc }: MessageParties): string[] {
  return [fromAddr, replyTo ?? "", toAddr, ...toAddrs, ...cc, ...(bcc ?? [])].map(wireForm);
}

/** An address of a stranger's mail in the same form as recipients. */
function wireForm(address: string): string {
  return (parseSendAddress(address) ?? address).toLowerCase();
}
