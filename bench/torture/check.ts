import { isExcused, type LedgerInbox, type LedgerSend } from "./ledger.ts";
import { isRefused } from "./relay.ts";
import { ask, type World } from "./world.ts";

export interface ShownMessage {
  id: string;
  inboxId: string;
  threadId: string;
  direction: "inbound" | "outbound";
  status: string;
  subject: string;
  rfcMessageId: string;
  toAddr: string;
  recipients: { address: string; status: string }[];
  authentication: { verdict: string; internal: boolean } | null;
}

/** Checks I1 to I6 by the API. Returns everything that it showed. */
export async function checkShown(world: World): Promise<ShownMessage[]> {
  const all: ShownMessage[] = [];
  for (const inbox of world.ledger.inboxes.values()) all.push(...(await messagesOf(world, inbox)));
  const byInbox = Map.groupBy(all, ({ inboxId }) => inboxId);
  for (const inbox of world.ledger.inboxes.values()) checkInbox(world, inbox, byInbox.get(inbox.id) ?? []);
  checkSends(world, all);
  checkRelay(world);
  return all;
}

async function messagesOf(world: World, inbox: LedgerInbox): Promise<ShownMessage[]> {
  const messages: ShownMessage[] = [];
  let cursor: string | null = null;
  let total = 0;
  do {
    const path: string = `/inboxes/${inbox.id}/messages?limit=100${cursor === null ? "" : `&cursor=${cursor}`}`;
    const { status, body } = await ask(world, inbox.account, "GET", path);
    if (status !== 200) throw new Error(`Cannot check: ${path} was answered ${status}`);
    messages.push(...(body.data as ShownMessage[]));
    cursor = body.nextCursor as string | null;
    total = body.total as number;
  } while (cursor !== null);
  if (total !== messages.length)
    world.ledger.violation("list", `${inbox.address} has ${messages.length} messages but says ${total}`);
  return messages;
}

/** Each mail is there as often as it must be, and no other. */
function checkInbox({ ledger }: World, inbox: LedgerInbox, messages: readonly ShownMessage[]): void {
  const inbound = messages.filter(({ direction }) => direction === "inbound");
  const copies = Map.groupBy(inbound, ({ subject }) => subject);
  for (const mail of ledger.mails.values()) {
    const state = mail.recipients.get(inbox.address);
    const count = copies.get(mail.token)?.length ?? 0;
    if (state === undefined ? count > 0 : !state.open && count > 0) {
      ledger.violation(
        state === undefined ? "I6" : "I2",
        `${mail.token} is in ${inbox.address} ${count} times, without a final dot`,
      );
    }
    if (state?.acknowledged && count !== 1)
      ledger.violation("I1", `${mail.token}, answered 250, is in ${inbox.address} ${count} times`);
    if (state?.open && count > 1) ledger.violation("I1", `${mail.token} is in ${inbox.address} ${count} times`);
  }
  for (const message of inbound) {
    const isMail = ledger.mails.has(message.subject);
    const isOwn = ledger.sends.get(message.subject)?.toOwn === inbox;
    if (!isMail && !isOwn)
      ledger.violation("I2", `${message.id} (${message.subject}) is in ${inbox.address}, and nobody sent it`);
    if (isMail && !isOwn) checkVerdict(ledger, message);
    const answered = ledger.answers.get(message.subject);
    if (answered !== undefined) ledger.count("answers by a name of the relay");
    if (answered !== undefined && message.threadId !== answered)
      ledger.violation("T6", `${message.subject} answers in ${answered}, and is in ${message.threadId}`);
    if (!ledger.read.has(message.id)) ledger.violation("read flag", `no agent was ever shown ${message.id} as unread`);
  }
}

/** The domain of a forged sender asks for the rejection of all its mail; that of the others publishes no such policy. */
function checkVerdict(ledger: World["ledger"], { subject, authentication }: ShownMessage): void {
  const verdict = authentication?.verdict ?? "not there";
  ledger.count(`authentication: ${ledger.forged.has(subject) ? "a forged sender" : "a sender"} has ${verdict}`);
  const possible = ledger.forged.has(subject) ? ["fail", "temperror"] : ["pass", "none", "temperror"];
  if (!possible.includes(verdict) || authentication?.internal)
    ledger.violation("T9", `the verdict about ${subject} is ${verdict}, not ${possible.join(" or ")}`);
}

function checkSends({ ledger }: World, all: readonly ShownMessage[]): void {
  const bySubject = Map.groupBy(all, ({ direction, subject }) => `${direction} ${subject}`);
  for (const send of ledger.sends.values()) {
    const made = bySubject.get(`outbound ${send.token}`) ?? [];
    const [promised] = send.messageIds;
    if (promised !== undefined && (made.length !== 1 || made[0]?.id !== promised)) {
      ledger.violation(
        "I4",
        `${send.key} was answered with ${promised}, and made ${made.map(({ id }) => id).join(", ") || "nothing"}`,
      );
    }
    if (made.length > 1) ledger.violation("I4", `${send.key} made ${made.length} messages`);
    checkUnanswered(ledger, send, all);
    for (const message of made) {
      ledger.count(`messages: ${message.status}`);
      checkStatus(ledger, send, message, bySubject.get(`inbound ${send.token}`)?.length ?? 0);
    }
  }
}

/** A reply with `ifUnanswered` is the first of ours behind the message that its writer saw, but for those that failed. */
function checkUnanswered(ledger: World["ledger"], send: LedgerSend, all: readonly ShownMessage[]): void {
  const [sent] = send.messageIds;
  if (send.unansweredBehind === undefined || sent === undefined) return;
  ledger.count("replies to what was unanswered");
  // The messages of an inbox are listed newest first.
  const seen = all.findIndex(({ id }) => id === send.unansweredBehind);
  const own = all.findIndex(({ id }) => id === sent);
  const between = all.slice(own + 1, seen).filter(({ threadId, direction, status }) => {
    return threadId === all[seen]?.threadId && direction === "outbound" && status !== "failed";
  });
  for (const { id } of between)
    ledger.violation("I4", `${sent} was sent if unanswered, and ${id} had answered before it`);
}

function checkStatus(ledger: World["ledger"], send: LedgerSend, message: ShownMessage, arrivals: number): void {
  const { status, recipients } = message;
  if (arrivals > 1) ledger.violation("I4", `${send.token} arrived ${arrivals} times`);
  for (const copy of recipients) checkCopy(ledger, send, message, copy, arrivals);
  if (recipients.length > 1) ledger.count(`messages to several: ${status}`);
  const states = recipients.map((copy) => copy.status);
  const made = states.includes("sent") ? "sent" : states.includes("pending") ? "pending" : "failed";
  if (status !== made)
    ledger.violation("I5", `${message.id} (${send.token}) is ${status}, its copies ${states.join()}`);
}

function checkCopy(
  ledger: World["ledger"],
  send: LedgerSend,
  { id }: ShownMessage,
  { address, status }: ShownMessage["recipients"][number],
  arrivals: number,
): void {
  const [token = ""] = address.split("@");
  const isOwn = send.toOwn?.address === address;
  const about = `the copy of ${id} (${send.token}) for ${address}`;
  const accepted = ledger.acceptances.get(token) ?? [];
  if (status === "pending") ledger.violation("I5", `${about} is pending still`);
  if (status === "sent" && !isOwn && !accepted.some(({ answered }) => answered)) {
    ledger.violation("I5", `${about} is sent, and the relay never said 250`);
  }
  if (status === "sent" && isOwn && arrivals !== 1)
    ledger.violation("I5", `${about} is sent, and there ${arrivals} times`);
  // A recipient whose copy bounced, unknown to the service, is suppressed before the next mail.
  const hasBounced = ledger.reports.some(
    (report) => report.token === token && report.kind === "bounced" && report.open,
  );
  if (status === "failed" && (isOwn || !(isRefused(token) || hasBounced))) {
    ledger.violation("I5", `${about} failed, and nobody refused it for good`);
  }
}

function checkRelay({ ledger }: World): void {
  for (const { token, takenMs } of ledger.offersAgain) {
    if (!isExcused(ledger.disturbances, takenMs)) {
      ledger.violation(
        "I4",
        `${token} was offered to the relay again after its 250 of ${new Date(takenMs).toISOString()}`,
      );
    }
  }
  for (const [token, accepted] of ledger.acceptances) {
    if (!ledger.copies.has(token)) ledger.violation("I4", `the relay took ${token}, which nobody asked to send`);
    const ids = new Set(accepted.map(({ messageId }) => messageId));
    const digests = new Set(accepted.map(({ digest }) => digest));
    if (ids.size > 1) ledger.violation("I4", `the relay saw ${token} with ${ids.size} Message-IDs`);
    if (digests.size > 1) ledger.violation("I4", `the relay saw ${token} with ${digests.size} contents`);
    const repeated = accepted.slice(0, -1);
    if (repeated.length > 0) ledger.count("relay: accepted again", repeated.length);
    for (const { answered, atMs } of repeated) {
      if (answered && !isExcused(ledger.disturbances, atMs)) {
        ledger.violation(
          "I4",
          `the relay took ${token} with a 250 and was given it again, with no fault near ${new Date(atMs).toISOString()}`,
        );
      }
    }
  }
}
