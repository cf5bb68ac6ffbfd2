import { join } from "node:path";
import type { Chance } from "../../tests/support/chance.ts";
import { serviceEntry } from "./fleet.ts";
import type { LedgerAccount, LedgerEndpoint, LedgerSubscription } from "./ledger.ts";
import { type ReceiverMood, startReceiver, type TortureReceiver } from "./receivers.ts";
import { ask, askAt, type World } from "./world.ts";

/** The limits of the third account are tried by all processes at once, and none may allow one send more. */
const accountsWanted = [
  { name: "default", sendsPerMinute: undefined, deadMood: "down" },
  { name: "second", sendsPerMinute: undefined, deadMood: "refusing" },
  { name: "limited", sendsPerMinute: 15, deadMood: "silent" },
  { name: "suspended", sendsPerMinute: undefined, deadMood: "down" },
] as const;

export const limitedSendsPerMinute = accountsWanted[2].sendsPerMinute;
export const firstKey = "torture-key-0123456789abcdef";

/** The receivers at an account's endpoints. */
export interface Receivers {
  /** A receiver at the default endpoint, with the usual failures. */
  moody: TortureReceiver;
  /** A slow receiver of all events. */
  late: TortureReceiver;
  /** A receiver for the first inbox alone, which fails until all faults are over. */
  dead: TortureReceiver;
}

interface Furnishing {
  world: World;
  environment: Record<string, string>;
  directory: string;
  chance: Chance;
}

/** Makes an operator, and the accounts with their inboxes and endpoints. Calls `made` for each receiver that listens. */
export async function furnish(furnishing: Furnishing, made: (receiver: TortureReceiver) => void): Promise<Receivers[]> {
  const { world, chance } = furnishing;
  const all: Receivers[] = [];
  world.operatorKey = String((await command(furnishing, ["operator", "create", "torture"])).key);
  for (const { name, sendsPerMinute, deadMood } of accountsWanted) {
    const account: LedgerAccount = {
      id: "",
      name,
      apiKey: await keyOf(name, furnishing),
      sendsPerMinute,
      isSuspendable: name === "suspended",
    };
    account.id = String((await ask(world, account, "GET", "/account")).body.id);
    world.accounts.push(account);
    const listen = () => {
      const receiver = startReceiver(world.ledger, chance.fork());
      made(receiver);
      return receiver;
    };
    const receivers = { moody: listen(), late: listen(), dead: listen() };
    await setDefaultEndpoint(world, account, receivers.moody);
    // Before the inboxes, since it wants their events.
    await addEndpoint(world, { account, receiver: receivers.late, name: "late", mood: "late" }, {});
    for (let number = 1; number <= (name === "default" || name === "second" ? 3 : 1); number += 1) {
      await addInbox(world, account, `${name}-${number}`);
    }
    const inboxId = [...world.ledger.inboxes.values()].find((inbox) => inbox.account === account)?.id;
    const ofInbox = { types: ["message.received"], inboxId };
    await addEndpoint(world, { account, receiver: receivers.dead, name: "dead", mood: deadMood }, ofInbox);
    all.push(receivers);
  }
  return all;
}

/** The first account's key is in the environment; the others are made on the command line, beside the running server. */
async function keyOf(name: string, furnishing: Furnishing): Promise<string> {
  if (name === "default") return firstKey;
  const plan = name === "limited" ? "free" : "developer";
  return String((await command(furnishing, ["account", "create", name, "--plan", plan])).apiKey);
}

/** Runs one of the service's commands, and returns what it prints. */
async function command(
  { environment, directory }: Furnishing,
  words: readonly string[],
): Promise<Record<string, unknown>> {
  const child = Bun.spawn([process.execPath, serviceEntry, ...words, "--json"], {
    env: { ...process.env, ...environment, DATA_DIR: join(directory, "data-0") },
    stdout: "pipe",
    stderr: "inherit",
  });
  return JSON.parse(await new Response(child.stdout).text()) as Record<string, unknown>;
}

/** An account of its own for one kind of work, with neither inboxes nor endpoints. */
export async function newAccount(world: World, name: string): Promise<LedgerAccount> {
  const running = world.fleet.any();
  if (running === undefined) throw new Error("Nothing listens");
  const body = { name, plan: "developer" };
  const { status, body: made } = await askAt(world, running, world.operatorKey, "POST", "/admin/accounts", { body });
  if (status !== 201) throw new Error(`Cannot make an account: ${status} ${JSON.stringify(made)}`);
  return { id: String(made.id), name, apiKey: String(made.key), sendsPerMinute: undefined, isSuspendable: false };
}

async function addInbox(world: World, account: LedgerAccount, username: string): Promise<void> {
  const { status, body: inbox } = await ask(world, account, "POST", "/inboxes", { body: { username } });
  if (status !== 201) throw new Error(`Cannot make an inbox: ${status} ${JSON.stringify(inbox)}`);
  const address = String(inbox.address);
  world.ledger.inboxes.set(address, { id: String(inbox.id), address, account });
}

async function setDefaultEndpoint(world: World, account: LedgerAccount, receiver: TortureReceiver): Promise<void> {
  const { body } = await ask(world, account, "PUT", "/webhook", { body: { url: receiver.url } });
  const secret = String(body.secret ?? "") || (await rotatedSecret(world, account));
  const all = await ask(world, account, "GET", "/webhooks");
  const listed = (all.body.data as { id: string; isDefault: boolean }[]).find(({ isDefault }) => isDefault);
  if (listed === undefined) throw new Error(`Cannot find the default endpoint of ${account.name}`);
  const subscription = { types: ["message.received"], inboxId: undefined };
  const endpoint = newEndpoint({ id: listed.id, secret, account, subscription, name: "default", isDead: false });
  world.ledger.endpoints.push(endpoint);
  receiver.belongsTo(endpoint);
  await receiver.behave("moody");
}

/** The first start made a secret and printed it. */
async function rotatedSecret(world: World, account: LedgerAccount): Promise<string> {
  const { body } = await ask(world, account, "POST", "/webhook/rotate-secret", { body: { overlapSeconds: 0 } });
  return String(body.secret);
}

interface Further {
  account: LedgerAccount;
  receiver: TortureReceiver;
  name: "late" | "dead";
  mood: ReceiverMood;
}

async function addEndpoint(
  world: World,
  { account, receiver, name, mood }: Further,
  { types, inboxId }: Partial<LedgerSubscription>,
): Promise<void> {
  const wanted = {
    url: receiver.url,
    eventTypes: types ?? ["*"],
    ...(inboxId !== undefined && { inboxIds: [inboxId] }),
  };
  const { status, body } = await ask(world, account, "POST", "/webhooks", { body: wanted });
  if (status !== 201) throw new Error(`Cannot add an endpoint: ${status} ${JSON.stringify(body)}`);
  const { id, secret } = body as { id: string; secret: string };
  const subscription = { types, inboxId };
  const endpoint = newEndpoint({ id, secret, account, subscription, name, isDead: name === "dead" });
  world.ledger.endpoints.push(endpoint);
  receiver.belongsTo(endpoint);
  await receiver.behave(mood);
}

function newEndpoint(
  known: Omit<LedgerEndpoint, "deliveries" | "recovered" | "isDefault" | "name"> & {
    name: "default" | "late" | "dead";
  },
): LedgerEndpoint {
  return {
    ...known,
    name: `the ${known.name} endpoint of ${known.account.name}`,
    isDefault: known.name === "default",
    deliveries: new Map(),
    recovered: new Map(),
  };
}
