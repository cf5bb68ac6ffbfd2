import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";

/** The fields that a message has in common with each of its copies. */
type Copy = Pick<Schemas["Recipient"], "failure" | "delivery"> & { status: string };
type Message = Copy & Pick<Schemas["ListedMessage"], "recipients">;

/** The status of a message, or the worst that other servers reported about it. If not all copies have it: of how many. */
export function statusOf(message: Message): string {
  const { recipients } = message;
  const worst = stateOf(worstOf(message));
  const count = recipients.filter((recipient) => stateOf(recipient) === worst).length;
  return count > 0 && count < recipients.length ? `${worst} ${count} of ${recipients.length}` : worst;
}

/** The same with the answer of the other server, if there is one. */
export function fullStatusOf(message: Message): string {
  const reason = reasonOf(worstOf(message));
  return reason === "" ? statusOf(message) : `${statusOf(message)}: ${reason}`;
}

/** A row for each copy of a mail. */
export function statusesOfCopies(recipients: readonly Schemas["Recipient"][]): object[] {
  return recipients.map((recipient) => ({
    field: recipient.type,
    recipient: recipient.address,
    status: stateOf(recipient),
    reason: reasonOf(recipient),
  }));
}

/** The states of a copy, from best to worst. */
const states = ["delivered", "sent", "pending", "delayed", "failed", "bounced", "complained"];

function worstOf(message: Message): Copy {
  const rank = (copy: Copy) => states.indexOf(stateOf(copy));
  return message.recipients.reduce<Copy>((worst, copy) => (rank(copy) > rank(worst) ? copy : worst), message);
}

function stateOf({ status, delivery }: Copy): string {
  return status === "failed" ? status : (delivery?.state ?? status);
}

function reasonOf({ status, failure, delivery }: Copy): string {
  if (failure !== null) return shownFailure(failure);
  if (status === "failed" || delivery === null) return "";
  const { code, enhancedCode, diagnostic } = delivery;
  // The type of a diagnostic (RFC 3464 §2.3.6) says nothing to a person.
  return shownFailure({ code, enhancedCode, message: (diagnostic ?? "").replace(/^smtp; ?/i, "") });
}

/** The codes and the text of a server. Some texts begin with the codes. */
export function shownFailure({
  code,
  enhancedCode,
  message,
}: Pick<Schemas["Failure"], "code" | "enhancedCode" | "message">): string {
  const codes = code !== null && message.startsWith(String(code)) ? [] : [code, enhancedCode];
  return [...codes, message].filter((part) => part !== null && part !== "").join(" ");
}
