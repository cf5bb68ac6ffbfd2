import { Refusal } from "../../errors.ts";
import type { Replied } from "../reply-content.ts";
import type { SendRequest } from "../send.ts";
import { isAddressedByReply } from "../send-facts.ts";
import type { Recipient } from "./entries.ts";
import { replyRecipients } from "./reply-recipients.ts";

export interface Answering {
  mailDomain: string;
  recipientsMax: number;
  ownAddresses: readonly string[];
}

/** The recipients of a mail: those of the request, or those that follow from the answered message. */
export function recipientsOfSend(
  request: SendRequest,
  replied: Replied | undefined,
  { mailDomain, recipientsMax, ownAddresses }: Answering,
): readonly Recipient[] {
  const { recipients, replyAll = false } = request;
  if (!isAddressedByReply(request)) return recipients;
  return replyRecipients(
    {
      direction: replied?.direction ?? "inbound",
      fromAddr: replied?.fromAddr ?? "",
      replyTo: replied?.replyTos ?? (replied?.replyTo == null ? [] : [replied.replyTo]),
      to: replied?.toAddrs ?? [],
      cc: replied?.cc ?? [],
      isFromNobody: replied?.envelopeFrom === "",
    },
    {
      mailDomain,
      ownAddresses,
      replyAll,
      max: recipientsMax,
      callersCc: recipients.filter(({ type }) => type === "cc"),
      callersBcc: recipients.filter(({ type }) => type === "bcc"),
    },
  );
}

/** All addresses that a mail may go to, including our own. Empty if the request will be refused; `judgeSend` then finds the reason. */
export function addresseesOfSend(request: SendRequest, replied: Replied | undefined, mailDomain: string): string[] {
  const all = { mailDomain, recipientsMax: Number.MAX_SAFE_INTEGER, ownAddresses: [] };
  try {
    return recipientsOfSend(request, replied, all).map(({ address }) => address);
  } catch (error) {
    if (error instanceof Refusal) return [];
    throw error;
  }
}
