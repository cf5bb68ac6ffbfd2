import { workOn } from "./agents.ts";
import type { LedgerAccount } from "./ledger.ts";
import { ask, type World } from "./world.ts";

interface Settling {
  /** Longer than any lease and pause between attempts. */
  settleMs: number;
}

/** Waits until the service owes nothing to anybody; what it still owes after that time is for the check to say. */
export async function settle(world: World, { settleMs }: Settling): Promise<void> {
  const endMs = Date.now() + settleMs;
  const filed = new Set<string>();
  const logs = world.accounts.map((account) => eventLog(world, account, filed));
  while (Date.now() < endMs) {
    const owed = await Promise.all([...logs.map((log) => log.undelivered()), unsent(world)]).catch(() => [1]);
    if (owed.every((count) => count === 0) && unfiled(world, filed) === 0) break;
    await Bun.sleep(500);
  }
  await readAll(world);
}

/** Follows the log of events, and counts those of which no delivery was answered with 2xx. Notes which mails are where. */
function eventLog(world: World, account: LedgerAccount, filed: Set<string>) {
  const waiting = new Set<string>();
  let after: string | undefined;

  async function readOn(): Promise<void> {
    for (;;) {
      const path = `/events?limit=100${after === undefined ? "" : `&after=${after}`}`;
      const { status, body } = await ask(world, account, "GET", path);
      if (status !== 200) throw new Error(`${path} was answered ${status}`);
      for (const event of body.data as { event_id: string; inbox_id: string; message: { subject: string } }[]) {
        waiting.add(event.event_id);
        filed.add(`${event.inbox_id} ${event.message.subject}`);
        after = event.event_id;
      }
      if (body.hasMore !== true) return;
    }
  }

  return {
    async undelivered(): Promise<number> {
      await readOn();
      for (const id of waiting) if (world.ledger.deliveries.get(id)?.delivered) waiting.delete(id);
      return waiting.size;
    },
  };
}

/** Mail that was answered 250 and is not there: it may have to wait until it is parsed. */
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
  for (const send of world.ledger.sends.values()) {
    const [messageId] = send.messageIds;
    if (send.isFinal || messageId === undefined) continue;
    const { status, body } = await ask(world, send.inbox.account, "GET", `/messages/${messageId}`);
    if (status === 404) world.ledger.violation("I4", `${messageId}, which was promised for ${send.key}, is not there`);
    send.isFinal = status === 404 || (status === 200 && body.status !== "pending");
    if (!send.isFinal) count += 1;
  }
  return count;
}

/** The agents' last round: nothing may be left unread, or it is left for ever. */
async function readAll(world: World): Promise<void> {
  for (const inbox of world.ledger.inboxes.values()) {
    for (let rounds = 0; rounds < 2000; rounds += 1) {
      const unread = await workOn(world, inbox, 50).catch(() => undefined);
      if (unread === 0) break;
      if (unread === undefined) await Bun.sleep(200);
    }
  }
}
