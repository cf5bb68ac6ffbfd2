import type { Chance } from "../../tests/support/chance.ts";
import { bySocket, byStream, type Connection } from "./connections.ts";
import {
  isWanted,
  type LedgerInbox,
  type LedgerListener,
  type LedgerSubscription,
  type LoggedEvent,
} from "./ledger.ts";
import { ask, type World } from "./world.ts";

/** A listener for the whole run; each of its connections continues where the last one ended. */
export interface TortureListener {
  /** Waits until it has all its events, or the time is over; then closes. */
  finish(endMs: number): Promise<void>;
}

/** A mix of clients: some read everything, one over a socket; some are cut off, slow, or read nothing; one waits for mail. */
export async function startListeners(world: World, chance: Chance): Promise<TortureListener[]> {
  const begun: TortureListener[] = [];
  for (const account of world.accounts) {
    const inbox = [...world.ledger.inboxes.values()].find((each) => each.account === account);
    if (inbox === undefined) throw new Error(`Cannot listen: ${account.name} has no inbox`);
    const all = { types: undefined, inboxId: undefined };
    const some = { types: ["message.received"], inboxId: inbox.id };
    const begin = (name: string, subscription: LedgerSubscription, hear: Hear) =>
      startListener(
        world,
        { name: `${name} of ${account.name}`, account, subscription, seen: [] },
        hear,
        chance.fork(),
      );
    begun.push(
      begin("steady stream", all, byStream("steady")),
      begin("stream of one inbox", some, byStream("steady")),
      begin("stream that is dropped", all, byStream("dropping")),
      begin("stream of 1 KiB/s", all, byStream("slow")),
      begin("stream that is not read", all, byStream("idle")),
      begin("socket", all, bySocket),
      await startWaiter(world, inbox, chance.fork()),
    );
  }
  return begun;
}

/** Holds one connection until it ends. */
type Hear = (connection: Connection) => Promise<void>;

function startListener(world: World, listener: LedgerListener, hear: Hear, chance: Chance): TortureListener {
  const { ledger } = world;
  const { account, subscription, seen, name } = listener;
  ledger.listeners.push(listener);
  const inboxIds = new Set(
    [...ledger.inboxes.values()].flatMap((inbox) => (inbox.account === account ? [inbox.id] : [])),
  );
  let after = "start";
  let isFinishing = false;
  let hasLeft = false;
  let interruption = new AbortController();

  function heard(event: LoggedEvent): void {
    after = event.id;
    seen.push(event.id);
    if (event.inboxId === null || !inboxIds.has(event.inboxId) || !isWanted(subscription, event))
      ledger.violation("I6", `the ${name} was told what is not for it: ${JSON.stringify(event)}`);
  }

  async function hearOnce(): Promise<void> {
    const apiUrl = world.fleet.any()?.apiUrl;
    if (apiUrl === undefined) return;
    interruption = new AbortController();
    const { signal } = interruption;
    const passed = (id: string) => {
      after = id;
    };
    ledger.count("listeners: connections");
    const beganMs = Date.now();
    const connection = {
      world,
      account,
      apiUrl,
      beganMs,
      subscription,
      after,
      isFinishing,
      chance,
      signal,
      heard,
      passed,
    };
    await hear(connection).catch((error) => {
      // The run's faults cut it off; it reconnects.
      if (error instanceof SyntaxError) ledger.violation("A7", `the ${name} was told no JSON: ${error.message}`);
    });
  }

  async function listen(): Promise<void> {
    while (!hasLeft) {
      await hearOnce();
      if (!hasLeft) await Bun.sleep(chance.whole(50, isFinishing ? 100 : 500));
    }
  }

  const listening = listen();
  return {
    async finish(endMs) {
      const wanted = (ledger.logs.get(account.name) ?? []).filter((event) => isWanted(subscription, event));
      isFinishing = true;
      interruption.abort();
      while (seen.length < wanted.length && Date.now() < endMs) await Bun.sleep(50);
      // Anything that still comes is a duplicate.
      await Bun.sleep(300);
      hasLeft = true;
      interruption.abort();
      await listening;
    },
  };
}

/** Waits for one mail after the other; each wait continues where the last one ended. */
async function startWaiter(world: World, inbox: LedgerInbox, chance: Chance): Promise<TortureListener> {
  const seen: string[] = [];
  world.ledger.waiters.push({ inbox, seen });
  let isFinishing = false;
  let cursor = "";

  /** Returns whether there was one. */
  async function waitOnce(timeout: number): Promise<boolean> {
    const query = `timeout=${timeout}${cursor === "" ? "" : `&after=${encodeURIComponent(cursor)}`}`;
    const { status, body } = await ask(world, inbox.account, "GET", `/inboxes/${inbox.id}/wait?${query}`);
    if (status !== 200) {
      if (status !== 503) world.ledger.violation("A4", `a wait for mail of ${inbox.address} was answered ${status}`);
      return false;
    }
    cursor = String(body.cursor);
    const message = body.message as { id: string; inboxId: string } | null;
    if (message === null) return false;
    seen.push(message.id);
    if (message.inboxId !== inbox.id) world.ledger.violation("I6", `a wait of ${inbox.address} got ${message.id}`);
    return true;
  }

  async function wait(): Promise<void> {
    while (!isFinishing) {
      const hasMail = await waitOnce(chance.whole(0, 2)).catch(() => false);
      if (!hasMail) await Bun.sleep(chance.whole(0, 300));
    }
  }

  await waitOnce(0);
  const waiting = wait();
  return {
    async finish(endMs) {
      isFinishing = true;
      await waiting;
      while (Date.now() < endMs && (await waitOnce(0).catch(() => true)));
    },
  };
}
