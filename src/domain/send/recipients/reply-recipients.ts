import { parseSendAddress } from "../../../standards/address.ts";
import { Refusal } from "../../errors.ts";
import { differentRecipients, type Recipient, type RecipientType, tooManyRecipients } from "./entries.ts";
import { isOwnAddress } from "./own-address.ts";

/** The message that is answered, as far as it says to whom an answer goes. Addresses are as its sender wrote them. */
export interface AnsweredMessage {
  direction: "inbound" | "outbound";
  /** Empty where its sender is not known. */
  fromAddr: string;
  /** Where answers are wanted, if elsewhere than at `fromAddr`. */
  replyTo: readonly string[];
  /** Those of its To field and of its Cc field. */
  to: readonly string[];
  cc: readonly string[];
  /** It came with a null reverse path: a report, which nobody reads an answer to (RFC 3834 §2). */
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
 * Whom an answer goes to where its caller does not say: an inbound message is answered at its Reply-To, else its From, an outbound one
 * goes to its `to` again. With `replyAll` all others whom it was addressed to get it too, but never we ourselves.
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
  return recipients;
}

/** Who is asked for an answer, before it is known whether that is somebody else. */
function addresseesOf({ direction, fromAddr, replyTo, to, isFromNobody }: AnsweredMessage): readonly string[] {
  if (direction === "outbound") return to;
  if (isFromNobody) return [];
  return (replyTo.length > 0 ? replyTo : [fromAddr]).filter((address) => address !== "");
}

/** Without names: what a stranger calls others is not ours to say. Who can't be written to is left out. */
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
  const why = 'the message names nobody else to answer; say in "to" whom the mail is for';
  return new Refusal("no_recipient", `Cannot send: ${why}`);
}

function tooMany(recipients: readonly Recipient[], { replyAll, max }: Replying): Refusal {
  const pointer = replyAll ? "#/replyAll" : `#/${recipients[max]?.type ?? "to"}`;
  const detail = tooManyRecipients(max);
  return new Refusal("validation_error", `Cannot send: "${pointer.slice(2)}" ${detail}`, {
    faults: [{ pointer, detail }],
  });
}
