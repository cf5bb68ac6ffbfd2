import type { Chance } from "../../tests/support/chance.ts";
import type { LedgerInbox } from "./ledger.ts";
import { ask, type Driver, type World } from "./world.ts";

interface Thread {
  id: string;
  inboxId: string;
}

interface Message {
  id: string;
  inboxId: string;
  threadId: string;
  direction: string;
}

/** An agent that lists unread threads, works on them and marks, files or labels them; mail that came in meanwhile must still be found. */
export function agent(world: World, chance: Chance): Driver {
  return async function workOnce() {
    const inbox = chance.pick([...world.ledger.inboxes.values()]);
    if (chance.is(0.1)) return peek(world, chance, inbox);
    const done = () => chance.pick([{ is_read: true }, { folder: "archive" }, { folder: "trash" }, labelling(chance)]);
    await workOn(world, inbox, chance.whole(1, 10), done).catch(() => undefined);
  };
}

function labelling(chance: Chance): object {
  const [added, removed] = chance.pick([
    ["orders", "vip"],
    ["vip", "orders"],
    ["vip", "invoices"],
  ]);
  return { is_read: true, add_labels: [added], remove_labels: [removed] };
}

/** Works on some unread threads, one after the other. */
export async function workOn(world: World, inbox: LedgerInbox, limit: number, done?: () => object): Promise<void> {
  for (const thread of await unreadThreads(world, inbox, limit)) await workOnThread(world, inbox, thread, done);
}

export async function unreadThreads(world: World, inbox: LedgerInbox, limit: number): Promise<Thread[]> {
  const path = `/inboxes/${inbox.id}/threads?is_read=false&limit=${limit}`;
  const { status, body } = await ask(world, inbox.account, "GET", path);
  if (status !== 200) throw new Error(`${path} was answered ${status}`);
  return body.data as Thread[];
}

export async function workOnThread(
  world: World,
  inbox: LedgerInbox,
  thread: Thread,
  done: () => object = () => ({ is_read: true }),
): Promise<void> {
  const { ledger } = world;
  if (thread.inboxId !== inbox.id)
    ledger.violation("I6", `${inbox.address} lists thread ${thread.id} of another inbox`);
  const messages = await readThread(world, inbox, thread.id);
  const last = messages.findLast(({ direction }) => direction === "inbound");
  if (last === undefined) return;
  const body = { ...done(), up_to_message_id: last.id };
  const marked = await ask(world, inbox.account, "PATCH", `/threads/${thread.id}`, { body });
  if (marked.status === 200)
    ledger.count(marked.body.reason === "newer_inbound" ? "agent: newer mail came" : "agent: marked");
  // The mail of some inboxes is removed meanwhile.
  else if (marked.status !== 503 && !(ledger.passing.some(({ id }) => id === inbox.id) && marked.status === 404))
    ledger.violation("api", `marking ${thread.id} was answered ${marked.status}`);
}

export async function readThread(world: World, inbox: LedgerInbox, threadId: string): Promise<Message[]> {
  const messages: Message[] = [];
  for (;;) {
    const path = `/threads/${threadId}/messages?limit=100&offset=${messages.length}`;
    const { status, body } = await ask(world, inbox.account, "GET", path);
    if (status !== 200) throw new Error(`${path} was answered ${status}`);
    const page = body.data as Message[];
    messages.push(...page);
    if (page.length < 100) break;
  }
  for (const message of messages) {
    if (message.inboxId !== inbox.id) world.ledger.violation("I6", `${threadId} shows a message of another inbox`);
    if (message.direction === "inbound") world.ledger.read.add(message.id);
  }
  return messages;
}

/** Resources of other accounts are answered as missing. */
async function peek(world: World, chance: Chance, inbox: LedgerInbox): Promise<void> {
  const strangers = world.accounts.filter((account) => account !== inbox.account);
  if (strangers.length === 0) return;
  const path = chance.pick([`/inboxes/${inbox.id}`, `/inboxes/${inbox.id}/messages`, `/inboxes/${inbox.id}/threads`]);
  const answer = await ask(world, chance.pick(strangers), "GET", path).catch(() => undefined);
  if (answer !== undefined && answer.status !== 404 && answer.status !== 503) {
    world.ledger.violation("I6", `${path} of another account was answered ${answer.status}`);
  }
}
