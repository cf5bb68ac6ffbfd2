import { parseSendAddress } from "../../../standards/address.ts";
import { Refusal } from "../../errors.ts";
import { differentRecipients, type Recipient, type RecipientType, tooManyRecipients } from "./entries.ts";
import { isOwnAddress } from "./own-address.ts";

/** The addresses of the answered message, as its sender wrote them. */
export interface AnsweredMessage {
  direction: "inbound" | "outbound";
  /** Empty if the sender is unknown. */
  fromAddr: string;
  /** The addresses of Reply-To; empty if there are none. */
  replyTo: readonly string[];
  /** The addresses of the To and Cc fields of the message. */
  to: readonly string[];
  cc: readonly string[];
  /** Whether the mail came with a null reverse path. Such a mail is a report, and nobody reads an answer to it (RFC 3834 §2). */
  isFromNobody: boolean;
}

export interface Replying {
  mailDomain: string;
  /** All addresses of the inbox, without tags. */
  ownAddresses: readonly string[];
  replyAll: boolean;
  callersCc: readonly Recipient[];
  callersBcc: readonly Recipient[];
  max: number;
}

/**
 * The recipients of an answer whose caller gives none. An answer to an inbound message goes to its Reply-To, else to its From. An answer
 * to our own message goes to its `to` again. With `replyAll` the answer also goes to the other addresses of the message. Our own addresses
 * are always left out.
 */
export function replyRecipients(answered: AnsweredMessage, replying: Replying): readonly Recipient[] {
  const { replyAll, callersCc, callersBcc } = replying;
  const addressed = addresseesOf(answered);
  if (addressed.length === 0) throw noRecipient();
  const others = replyAll && answered.direction === "inbound" ? answered.to : [];
  const derived = withoutOwn(
    [
      ...recipientsOf([...addressed, ...others], "to", replying),
      ...recipientsOf(replyAll ? answered.cc : [], "cc", replying),
    ],
    replying,
  );
  if (derived.length === 0) throw noRecipient();
  const cc = replyAll ? withoutOwn(callersCc, replying) : callersCc;
  const recipients = differentRecipients([...derived, ...cc, ...callersBcc]);
  if (recipients.length > replying.max) throw tooMany(recipients, replying);
  // If the only recipient is in Cc, it moves to To, because a mail needs a recipient in To.
  return recipients.length === 1 ? recipients.map((recipient) => ({ ...recipient, type: "to" })) : recipients;
}

/** The addresses to which an answer to the message goes. Our own may be among them. */
function addresseesOf({ direction, fromAddr, replyTo, to, isFromNobody }: AnsweredMessage): readonly string[] {
  if (direction === "outbound") return to;
  if (isFromNobody) return [];
  return (replyTo.length > 0 ? replyTo : [fromAddr]).filter((address) => address !== "");
}

/** Makes recipients from the valid addresses. They have no names, because strangers chose the names in the message. */
function recipientsOf(addresses: readonly string[], type: RecipientType, { mailDomain }: Replying): Recipient[] {
  return addresses.flatMap((text) => {
    const address = parseSendAddress(text, mailDomain);
    return address === undefined ? [] : [{ address, name: undefined, type }];
  });
}

function withoutOwn(recipients: readonly Recipient[], { ownAddresses }: Replying): Recipient[] {
  return recipients.filter(({ address }) => !isOwnAddress(address, ownAddresses));
}

function noRecipient(): Refusal {
  const why = 'the answered message names no other address to reply to; give the recipient in "to"';
  return new Refusal("no_recipient", `Cannot send: ${why}`);
}

function tooMany(recipients: readonly Recipient[], { replyAll, max }: Replying): Refusal {
  const pointer = replyAll ? "#/replyAll" : `#/${recipients[max]?.type ?? "to"}`;
  const detail = tooManyRecipients(max);
  return new Refusal("validation_error", `Cannot send: "${pointer.slice(2)}" ${detail}`, {
    faults: [{ pointer, detail }],
  });
}
