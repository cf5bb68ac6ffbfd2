import type { Chance } from "../../tests/support/chance.ts";
import type { Running } from "./fleet.ts";
import type { LedgerInbox } from "./ledger.ts";
import { type Answer, ask, askAt, type Driver, eventually, untilHeard, type World } from "./world.ts";

interface Key {
  id: string;
  key: string;
  expiresAt: string | null;
}

/** The reach of a key: one inbox, the whole account, or the inboxes of a tenant, which has none here. */
type Reach = "inbox" | "account" | "tenant";

/** A client that makes keys, works with them, rotates them and revokes them. */
export function keyManager(world: World, chance: Chance): Driver {
  const { ledger } = world;

  return async function useOneKey() {
    const inbox = chance.pick(lasting(world));
    const reach = chance.pick(["inbox", "inbox", "account", "tenant"] as const);
    const key = await made(inbox, reach);
    if (key === undefined) return;
    await worksEverywhere(key, inbox, reach);
    const next = chance.is(0.5) ? await rotated(key, inbox, chance.whole(0, 2)) : undefined;
    if (next !== undefined) await worksEverywhere(next, inbox, reach);
    for (const each of [key, next]) if (each !== undefined) await revoke(each, inbox);
    await untilHeard(world, inbox.account);
    for (const each of [key, next]) if (each !== undefined) await opensNothing(each, inbox);
  };

  /** A key whose answer was lost stays, and nobody has it. */
  async function made({ id, account }: LedgerInbox, reach: Reach): Promise<Key | undefined> {
    const bound = { inbox: { inboxId: id }, tenant: { externalId: "nobody" }, account: {} }[reach];
    const body = { access: chance.pick(["read", "agent"]), ...bound };
    const answer = await ask(world, account, "POST", "/keys", { body }).catch(() => undefined);
    return answer?.status === 201 ? (answer.body as unknown as Key) : undefined;
  }

  /** The old key works until the overlap is over, and then no more. */
  async function rotated(old: Key, inbox: LedgerInbox, overlapSeconds: number): Promise<Key | undefined> {
    const body = { overlapSeconds };
    const path = `/keys/${old.id}/rotate`;
    const answer = await ask(world, inbox.account, "POST", path, { body }).catch(() => undefined);
    if (answer?.status !== 201) return undefined;
    ledger.count("keys: rotated");
    if (overlapSeconds === 0) {
      await untilHeard(world, inbox.account);
      await opensNothing(old, inbox);
    } else {
      const shown = await ask(world, inbox.account, "GET", `/keys/${old.id}`).catch(() => undefined);
      const expiresAt = shown?.body.expiresAt as string | undefined;
      if (expiresAt !== undefined) await worksEverywhere({ ...old, expiresAt }, inbox, "account");
    }
    return answer.body as unknown as Key;
  }

  async function revoke({ id }: Key, { account }: LedgerInbox): Promise<void> {
    await eventually(world, chance, async () => (await ask(world, account, "DELETE", `/keys/${id}`)).status === 204);
    ledger.count("keys: revoked");
  }

  /** A living key opens what is in its reach, and everything else is as if it were not there. */
  async function worksEverywhere(key: Key, inbox: LedgerInbox, reach: Reach): Promise<void> {
    const others = lasting(world).filter((other) => other.account === inbox.account && other !== inbox);
    for (const running of runningNow(world)) {
      if (key.expiresAt !== null) {
        const account = await tried(running, key, "/account");
        const isOver = Date.now() >= Date.parse(key.expiresAt) - marginMs;
        if (account !== undefined && !isOver) expectStatus(account, 200, key, "the account");
        continue;
      }
      const own = await tried(running, key, `/inboxes/${inbox.id}`);
      if (own !== undefined) expectStatus(own, reach === "tenant" ? 404 : 200, key, inbox.address);
      const [other] = others;
      const foreign = other && (await tried(running, key, `/inboxes/${other.id}/messages?limit=1`));
      if (foreign !== undefined)
        expectStatus(foreign, reach === "account" ? 200 : 404, key, `mail of ${other?.address}`);
      const listed = await tried(running, key, "/inboxes?limit=100");
      const ids = ((listed?.body.data ?? []) as { id: string }[]).map(({ id }) => id);
      if (reach === "inbox" && ids.some((id) => id !== inbox.id))
        ledger.violation("I11", `${key.id} of ${inbox.address} lists ${ids.join()}`);
    }
  }

  function expectStatus({ status }: Answer, wanted: number, { id }: Key, what: string): void {
    if (status === 503) return;
    ledger.count(`keys: a living one answered ${status}`);
    if (status === 401) ledger.violation("P2.1", `${id} lives, and was refused ${what}`);
    else if (status !== wanted) ledger.violation("I11", `${id} was answered ${status} about ${what}, not ${wanted}`);
  }

  async function opensNothing({ id, key }: Key, { id: inboxId }: LedgerInbox): Promise<void> {
    for (const running of runningNow(world)) {
      for (const path of ["/account", `/inboxes/${inboxId}`]) {
        const answer = await tried(running, { id, key }, path);
        if (answer === undefined || answer.status === 503) continue;
        ledger.count(`keys: an ended one answered ${answer.status}`);
        if (answer.status !== 401)
          ledger.violation("P2.1", `${id} has ended, and was answered ${answer.status} about ${path}`);
      }
    }
  }

  function tried(running: Running, { key }: Pick<Key, "id" | "key">, path: string): Promise<Answer | undefined> {
    return askAt(world, running, key, "GET", path).catch(() => undefined);
  }
}

/** How far the clock of the service may be ahead of ours. */
const marginMs = 500;

/** The inboxes whose account is never suspended. */
function lasting({ ledger }: World): LedgerInbox[] {
  return [...ledger.inboxes.values()].filter(({ account }) => !account.isSuspendable);
}

function runningNow({ fleet }: World): Running[] {
  return fleet.places.flatMap(({ running }) => running ?? []);
}
