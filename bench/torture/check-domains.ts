import type { Ledger, LedgerDomain, LedgerInbox, LedgerMail } from "./ledger.ts";
import { ask, type World } from "./world.ts";

/** Mail at an own domain is in the inbox of the account that had it, and is refused between the two. */
export async function checkDomains(world: World): Promise<void> {
  for (const domain of world.ledger.domains) {
    const subjects = [await subjectsOf(world, domain.before), await subjectsOf(world, domain.after)] as const;
    for (const mail of domain.mails) checkMail(world.ledger, domain, mail, subjects);
  }
}

async function subjectsOf(world: World, inbox: LedgerInbox | undefined): Promise<string[]> {
  if (inbox === undefined) return [];
  const subjects: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const place: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const path = `/inboxes/${inbox.id}/messages?limit=100${place}`;
    const { status, body } = await ask(world, inbox.account, "GET", path);
    if (status !== 200) throw new Error(`Cannot check: ${path} was answered ${status}`);
    subjects.push(...(body.data as { subject: string }[]).map(({ subject }) => subject));
    cursor = body.nextCursor as string | null;
  }
  return subjects;
}

function checkMail(
  ledger: Ledger,
  { name, heldMs, leavingMs, goneMs, renewedMs }: LedgerDomain,
  { token, recipients }: LedgerMail,
  [before, after]: readonly [string[], string[]],
): void {
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
  if (inBefore > 0 && taken.every(({ askedMs }) => askedMs >= goneMs))
    ledger.violation("P1.4", `${token} came after ${name} had moved, and is in the old inbox`);
  for (const { askedMs, answeredMs, isAccepted } of state.answers) {
    if (!isAccepted && askedMs >= heldMs && answeredMs < leavingMs)
      ledger.violation("P1.3", `${token} was refused while ${name} was proven`);
    if (isAccepted && askedMs >= goneMs && answeredMs < renewedMs)
      ledger.violation("P1.4", `${token} was taken for ${name}, which had moved and had no inbox`);
    if (!isAccepted) ledger.count("domains: mails refused");
  }
}
