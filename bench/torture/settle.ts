import { unreadThreads, workOnThread } from "./agents.ts";
import { isWanted, type LedgerAccount, type LedgerEndpoint, type LedgerInbox } from "./ledger.ts";
import { ask, type World } from "./world.ts";

interface Settling {
  /** Longer than any lease and pause between attempts. */
  settleMs: number;
}

/** Waits until the service owes nothing to any reachable receiver; the check reports the rest. */
export async function settle(world: World, { settleMs }: Settling): Promise<void> {
  const endMs = Date.now() + settleMs;
  const filed = new Set<string>();
  const logs = world.accounts.map((account) => eventLog(world, account, filed));
  while (Date.now() < endMs) {
    const owed = await Promise.all([...logs.map((log) => log.undelivered()), unsent(world)]).catch(() => [1]);
    if (owed.every((count) => count === 0) && unfiled(world, filed) === 0) break;
    await Bun.sleep(500);
  }
  const living = world.ledger.endpoints.filter(({ isDead }) => !isDead);
  await untilNothingIsDue(world, living, endMs);
  await untilUsageIsCounted(world, Date.now() + longestCountingMs);
  await readAll(world);
}

/** Longer than a lease on counting and the pass over all inboxes, which finds what was committed late. */
const longestCountingMs = 75_000;

/** Waits until the usage of each account has all its mail. */
async function untilUsageIsCounted(world: World, endMs: number): Promise<void> {
  for (const account of world.accounts) {
    while (Date.now() < endMs) {
      const { body } = await ask(world, account, "GET", "/usage").catch(() => ({ body: undefined }));
      const { totals, current } = (body ?? {}) as Partial<ShownUsage>;
      if (totals !== undefined && totals.received + totals.sent >= (current?.messages ?? 0)) break;
      await Bun.sleep(300);
    }
  }
}

interface ShownUsage {
  totals: { received: number; sent: number };
  current: { messages: number };
}

/** Follows the log of events, counts what endpoints want and do not have, and records where mails are. */
function eventLog(world: World, account: LedgerAccount, filed: Set<string>) {
  const waiting: { id: string; endpoint: LedgerEndpoint }[] = [];
  const endpoints = world.ledger.endpoints.filter((each) => each.account === account && !each.isDead);
  let after = "start";

  async function readOn(): Promise<void> {
    for (;;) {
      const path = `/events?types=*&limit=100&after=${after}`;
      const { status, body } = await ask(world, account, "GET", path);
      if (status !== 200) throw new Error(`${path} was answered ${status}`);
      for (const { event_id: id, event: type, inbox_id: inboxId, message } of body.data as ShownEvent[]) {
        const wanting = endpoints.filter(({ subscription }) => isWanted(subscription, { type, inboxId }));
        waiting.push(...wanting.map((endpoint) => ({ id, endpoint })));
        if (type === "message.received") filed.add(`${inboxId} ${message?.subject}`);
        after = id;
      }
      if (body.hasMore !== true) return;
    }
  }

  return {
    async undelivered(): Promise<number> {
      await readOn();
      return waiting.filter(({ id, endpoint }) => !endpoint.deliveries.get(id)?.delivered).length;
    },
  };
}

interface ShownEvent {
  event_id: string;
  event: string;
  inbox_id: string | null;
  message?: { subject: string };
}

/** Waits until nothing is queued for these endpoints. */
export async function untilNothingIsDue(
  world: World,
  endpoints: readonly LedgerEndpoint[],
  endMs: number,
): Promise<void> {
  for (const endpoint of endpoints) {
    while (Date.now() < endMs) {
      const pending = await deliveriesOf(world, endpoint, "pending").catch(() => undefined);
      if (pending?.length === 0) break;
      await Bun.sleep(300);
    }
  }
}

export async function deliveriesOf(
  world: World,
  { id, account }: LedgerEndpoint,
  state: "pending" | "failed",
): Promise<{ event_id: string; attempts: number }[]> {
  const found: { event_id: string; attempts: number }[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const place: string = cursor === "" ? "" : `&cursor=${cursor}`;
    const path = `/webhooks/${id}/deliveries?limit=100&state=${state}${place}`;
    const { status, body } = await ask(world, account, "GET", path);
    if (status !== 200) throw new Error(`${path} was answered ${status}`);
    found.push(...(body.data as { event_id: string; attempts: number }[]));
    cursor = body.nextCursor as string | null;
  }
  return found;
}

/** Mail with a 250 that is not there, since it may wait to be parsed. */
function unfiled({ ledger }: World, filed: ReadonlySet<string>): number {
  let count = 0;
  for (const { token, recipients } of ledger.mails.values()) {
    for (const [address, { acknowledged }] of recipients) {
      const inbox = ledger.inboxes.get(address);
      if (acknowledged && inbox !== undefined && !filed.has(`${inbox.id} ${token}`)) count += 1;
    }
  }
  return count;
}

async function unsent(world: World): Promise<number> {
  let count = 0;
  const ofDomains = world.ledger.domains.flatMap(({ sends }) => sends.map(({ send }) => send));
  for (const send of [...world.ledger.sends.values(), ...ofDomains]) {
    const [messageId] = send.messageIds;
    if (send.isFinal || messageId === undefined) continue;
    const { status, body } = await ask(world, send.inbox.account, "GET", `/messages/${messageId}`);
    if (status === 404) world.ledger.violation("I4", `${messageId}, which was promised for ${send.key}, is not there`);
    const copies = (body.recipients ?? []) as { status: string }[];
    const isDecided = body.status !== "pending" && copies.every((copy) => copy.status !== "pending");
    send.isFinal = status === 404 || (status === 200 && isDecided);
    if (!send.isFinal) count += 1;
  }
  return count;
}

/** The agents' last round: nothing may stay unread. */
async function readAll(world: World): Promise<void> {
  await Promise.all([...world.ledger.inboxes.values()].map((inbox) => readInbox(world, inbox)));
}

async function readInbox(world: World, inbox: LedgerInbox): Promise<void> {
  for (let rounds = 0; rounds < 2000; rounds += 1) {
    const unread = await unreadThreads(world, inbox, 50).catch(() => undefined);
    if (unread?.length === 0) break;
    if (unread === undefined) await Bun.sleep(200);
    else await Promise.all(unread.map((thread) => workOnThread(world, inbox, thread).catch(() => undefined)));
  }
}
