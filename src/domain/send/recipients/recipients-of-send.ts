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

/** Whom a mail goes to: those who are given, or those whom the answered message says. */
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
      to: replied === undefined ? [] : (replied.toAddrs ?? [replied.toAddr]),
      cc: replied?.cc ?? [],
      isFromNobody: replied?.envelopeFrom === "",
    },
    {
      ...{ mailDomain, ownAddresses, replyAll, max: recipientsMax },
      callersCc: recipients.filter(({ type }) => type === "cc"),
      callersBcc: recipients.filter(({ type }) => type === "bcc"),
    },
  );
}
