import { parseSendAddress } from "../../standards/address.ts";
import type { Recipient } from "./recipients/entries.ts";
import { isOwnAddress } from "./recipients/own-address.ts";
import type { SendRequest } from "./send.ts";
import type { MessageParties } from "./send-facts.ts";

/**
 * The message that a reply may quote (contract §5.5): the newest one that a recipient of the reply wrote or got, so that the reply never
 * shows a message that was only between others. `messages` are newest first. The reply's blind copies do not count, because the other
 * recipients read the quote too, nor does our own address, which got all messages. A reply only to ourselves quotes the newest message.
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

/** Whether the request wants a quote in a reply, but does not name the message to quote. */
export function quotesLast({ threadId, includeQuote, readUpToMessageId, replyToMessageId }: SendRequest): boolean {
  return threadId !== undefined && includeQuote && readUpToMessageId === undefined && replyToMessageId === undefined;
}

function partiesOf({ fromAddr, replyTo, toAddr, toAddrs, cc, bcc }: MessageParties): string[] {
  return [fromAddr, replyTo ?? "", toAddr, ...toAddrs, ...cc, ...(bcc ?? [])].map(wireForm);
}

/** An address from a mail, in the form of the addresses of recipients, in lower case. */
function wireForm(address: string): string {
  return (parseSendAddress(address) ?? address).toLowerCase();
}
