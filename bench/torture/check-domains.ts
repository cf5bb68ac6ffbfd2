import {
  type DomainSend,
  isGone,
  type Ledger,
  type LedgerDomain,
  type LedgerInbox,
  type LedgerMail,
} from "./ledger.ts";
import { ask, type World } from "./world.ts";

interface ShownMail {
  id: string;
  direction: "inbound" | "outbound";
  status: string;
  subject: string;
}

/** Mail at an own domain is in the inbox of the account that had it, and is refused between the two. The same is true for mail from it. */
export async function checkDomains(world: World): Promise<void> {
  for (const domain of world.ledger.domains) {
    const [before, after] = [await mailsOf(world, domain.before), await mailsOf(world, domain.after)];
    const subjects = [subjectsOf(before), subjectsOf(after)] as const;
    for (const mail of domain.mails) checkMail(world.ledger, domain, mail, subjects);
    for (const sent of domain.sends) await checkSend(world, domain, sent, before);
  }
}

async function mailsOf(world: World, inbox: LedgerInbox | undefined): Promise<ShownMail[]> {
  if (inbox === undefined) return [];
  const mails: ShownMail[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const place: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const path = `/inboxes/${inbox.id}/messages?limit=100${place}`;
    const { status, body } = await ask(world, inbox.account, "GET", path);
    if (status !== 200) throw new Error(`Cannot check: ${path} was answered ${status}`);
    mails.push(...(body.data as ShownMail[]));
    cursor = body.nextCursor as string | null;
  }
  return mails;
}

function subjectsOf(mails: readonly ShownMail[]): string[] {
  return mails.filter(({ direction }) => direction === "inbound").map(({ subject }) => subject);
}

function checkMail(
  ledger: Ledger,
  domain: LedgerDomain,
  { token, recipients }: LedgerMail,
  [before, after]: readonly [string[], string[]],
): void {
  const { name, goneMs, renewedMs } = domain;
  const [state] = recipients.values();
  if (state === undefined) return;
  const counts = [before, after].map((subjects) => subjects.filter((subject) => subject === token).length);
  const [inBefore = 0, inAfter = 0] = counts;
  const taken = state.answers.filter(({ isAccepted }) => isAccepted);
  ledger.count("domains: mails checked");
  if (state.acknowledged && inBefore + inAfter === 0)
    ledger.violation("P1.4", `${token}, answered 250, is in neither inbox of ${name}`);
  if (inBefore > 1 || inAfter > 1) ledger.violation("P1.4", `${token} is ${counts.join(" and ")} times at ${name}`);
  // A mail that was sent once more, since its answer was lost, may be in both.
  if (inBefore > 0 && inAfter > 0 && taken.length < 2)
    ledger.violation("P1.4", `${token} is in both inboxes of ${name}`);
  if (inBefore > 0 && taken.every(({ askedMs }) => isGone(domain, askedMs, askedMs)))
    ledger.violation("P1.4", `${token} came after ${name} had moved, and is in the old inbox`);
  for (const { askedMs, answeredMs, isAccepted } of state.answers) {
    if (!isAccepted && isHeld(domain, askedMs, answeredMs))
      ledger.violation("P1.3", `${token} was refused while ${name} was proven`);
    if (isAccepted && askedMs >= goneMs && answeredMs < renewedMs)
      ledger.violation("P1.4", `${token} was taken for ${name}, which had moved or failed and had no inbox`);
    if (!isAccepted) ledger.count("domains: mails refused");
  }
}

/** Whether a domain is with its first account in all of this time. */
function isHeld({ heldMs, leavingMs, heldAgainMs }: LedgerDomain, fromMs: number, untilMs: number): boolean {
  return (fromMs >= heldMs && untilMs < leavingMs) || fromMs >= heldAgainMs;
}

/** A send is one message if it was accepted, and none if it was refused. It fails only while its domain may have failed. */
async function checkSend(
  world: World,
  domain: LedgerDomain,
  { send: { token, messageIds }, fromMs, answer }: DomainSend,
  shown: readonly ShownMail[],
): Promise<void> {
  const { ledger } = world;
  const { name } = domain;
  const made = shown.filter(({ direction, subject }) => direction === "outbound" && subject === token);
  const ids = made.map(({ id }) => id).join(", ") || "nothing";
  const [promised] = messageIds;
  if (messageIds.size > 1 || made.length > 1 || (promised !== undefined && made[0]?.id !== promised))
    ledger.violation("I4", `${token} was answered with ${[...messageIds].join() || "nothing"}, and is ${ids}`);
  if (answer !== undefined) ledger.count(`domains: a send was ${answer.isAccepted ? "accepted" : "refused"}`);
  if (answer?.isAccepted === false && made.length > 0) ledger.violation("I4", `${token} was refused, and is ${ids}`);
  if (answer?.isAccepted === false && isHeld(domain, answer.askedMs, answer.answeredMs))
    ledger.violation("P1.3", `the send of ${token} was refused while ${name} was proven`);
  if (answer?.isAccepted && isGone(domain, fromMs, answer.answeredMs))
    ledger.violation("P1.4", `the send of ${token} was accepted while ${name} had failed`);
  for (const { id, status } of made) {
    ledger.count(`domains: a message is ${status}`);
    const accepted = ledger.acceptances.get(token) ?? [];
    if (status === "pending") ledger.violation("I5", `${token} from ${name} is pending still`);
    if (status === "sent" && !accepted.some(({ answered }) => answered))
      ledger.violation("I5", `${token} from ${name} is sent, and the relay never said 250`);
    const failedMs = status === "failed" ? await failureOf(world, domain, id) : undefined;
    if (failedMs !== undefined && isHeld(domain, failedMs, failedMs))
      ledger.violation("I5", `${token} failed while ${name} was proven`);
  }
}

/** When a message failed. */
async function failureOf(world: World, { before }: LedgerDomain, id: string): Promise<number | undefined> {
  if (before === undefined) return undefined;
  const { body } = await ask(world, before.account, "GET", `/messages/${id}/history`);
  const failed = (body.data as { what: string; at: string }[]).find(({ what }) => what === "failed");
  return failed && Date.parse(failed.at);
}
