import { BlobsAway } from "../blobs/blob-store.ts";
import { DatabaseUnavailable } from "../database/db.ts";
import type { OutgoingMail } from "../domain/message.ts";
import type { RelayOutcome } from "../domain/outcome.ts";
import { answers } from "../domain/receive/answers.ts";
import type { InboundMail, MailOutcome } from "../domain/receive/inbound-mail.ts";
import type { Deps } from "../flows/deps.ts";
import type { MailDoor } from "../flows/receive/accept-mail.ts";
import type { Addressee } from "../flows/receive/accept-returned.ts";
import { wholeMail } from "../flows/send/ready-mail.ts";
import { sizeGate } from "../flows/size-gate.ts";
import { mailSize } from "../mail/write/compose.ts";

export interface DoorDeps extends Pick<Deps, "db" | "log"> {
  /** The door for mail to our own domain. */
  door: Pick<MailDoor, "recipient"> & { accept: (mail: InboundMail<Addressee>) => ReturnType<MailDoor["accept"]> };
}

/**
 * Delivers a mail to our own domain through the same door as mail from outside, once for all recipients. Unknown addresses are refused,
 * as that door does. Returns the outcomes in order.
 */
export async function deliverHere(
  { db, door, log }: DoorDeps,
  mail: OutgoingMail,
  to: readonly string[],
): Promise<RelayOutcome[]> {
  try {
    const found = await Promise.all(to.map((address) => inboxOf(door, address)));
    const recipients = [
      ...new Map(found.flatMap((each) => (isRecipient(each) ? [[nameOf(each), each]] : []))).values(),
    ];
    const outcome = recipients.length === 0 ? "gone" : await accepted(recipients);
    return found.map((each) => (isRecipient(each) ? outcomes[outcome] : each));
  } catch (err) {
    if (err instanceof BlobsAway) log.warn({ err }, "our own mail put off: the object store is away");
    else if (!(err instanceof DatabaseUnavailable)) log.error({ err }, "cannot accept our own mail: unexpected error");
    return to.map(() => notNow);
  }

  async function accepted(recipients: Addressee[]): Promise<MailOutcome> {
    const envelope = { from: mail.from.address, recipients, client: undefined };
    const store = async () => door.accept({ envelope, raw: await wholeMail(db.work, mail) });
    return mail.attachments.length === 0 ? store() : inMemory(mailSize(mail, undefined), store);
  }
}

/** Limits the bytes of mail with attachments to our own domain that is in memory at the same time. */
const inMemory = sizeGate(24 << 20);

/**
 * The inbox of an address, or the outcome for an address that takes no mail. Of return paths only those to unsubscribe take our own mail: for
 * the others the report would be about ourselves.
 */
async function inboxOf(door: DoorDeps["door"], toAddr: string): Promise<Addressee | RelayOutcome> {
  const found = await door.recipient(toAddr);
  if (found.kind === "return_path" && found.unsubscribes === true)
    return { toAddr, messageId: found.messageId, unsubscribes: true };
  if (found.kind === "accept") return { toAddr, inboxId: found.inboxId };
  return found.kind === "return_path" || found.kind === "other_domain" ? answers.unknown : answers[found.kind];
}

function isRecipient(found: Addressee | RelayOutcome): found is Addressee {
  return "toAddr" in found;
}

function nameOf(recipient: Addressee): string {
  return "inboxId" in recipient ? recipient.inboxId : recipient.messageId;
}

/** The commit may have succeeded although its answer was lost. */
const notNow: RelayOutcome = {
  kind: "retry",
  failure: { code: 451, enhancedCode: "4.3.0", message: "Cannot store the mail now: try again later" },
  maybeAccepted: true,
};

const outcomes: Readonly<Record<MailOutcome, RelayOutcome>> = {
  stored: answers.stored,
  quarantined: answers.stored,
  gone: answers.unknown,
  disabled: answers.disabled,
  refused: answers.refused,
  undecided: answers.undecided,
  unavailable: notNow,
};
