import type { Chance } from "../../tests/support/chance.ts";
import { readThread } from "./agents.ts";
import type { LedgerInbox, LedgerSend } from "./ledger.ts";
import { ask, type Driver, eventually, type World } from "./world.ts";

/** A client that sends mail and repeats each request, with its key, until it knows what came of it. */
export function apiSender(world: World, chance: Chance, name: string, from: readonly LedgerInbox[]): Driver {
  const { ledger } = world;
  let number = 0;

  return async function sendOne() {
    number += 1;
    const inboxes = [...ledger.inboxes.values()];
    const inbox = chance.pick(from);
    const toOwn = chance.is(0.25) ? chance.pick(inboxes) : undefined;
    const token = `s${name}n${number}x`;
    const send: LedgerSend = {
      token,
      key: `key-${token}`,
      inbox,
      toOwn,
      messageIds: new Set(),
      open: false,
      isFinal: false,
    };
    ledger.sends.set(token, send);
    const body = {
      to: toOwn?.address ?? `${token}@far${chance.whole(1, 3)}.example`,
      subject: token,
      body: chance.pick(["Hello", "<p>Hello <b>there</b></p>", "Line\n.\n..\nend", "Grüße 🦩 ".repeat(50)]),
      ...(chance.is(0.3) && (await replyTo(inbox).catch(() => undefined))),
    };
    const once = () => request(send, body);
    // Some clients press twice: both must hear of the same message.
    if (chance.is(0.15)) await Promise.all([eventually(world, chance, once), eventually(world, chance, once)]);
    else await eventually(world, chance, once);
    if (chance.is(0.1)) await once().catch(() => undefined);
    if (chance.is(0.05) && send.messageIds.size > 0) await reuseKey(send).catch(() => undefined);
  };

  async function request(send: LedgerSend, body: object): Promise<boolean> {
    send.open = true;
    const answer = await ask(world, send.inbox.account, "POST", `/inboxes/${send.inbox.id}/send`, {
      body,
      key: send.key,
    });
    if (answer.status === 200) {
      send.messageIds.add(String(answer.body.messageId));
      if (send.messageIds.size > 1)
        ledger.violation("I4", `${send.key} was answered with ${[...send.messageIds].join(" and ")}`);
      return true;
    }
    if (answer.status === 429 && send.inbox.account.sendsPerMinute !== undefined) return true;
    if (answer.status !== 503 && answer.status !== 409 && answer.status !== 500) {
      ledger.violation("api", `send with ${send.key} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
      return true;
    }
    return false;
  }

  async function reuseKey({ inbox, key, token }: LedgerSend): Promise<void> {
    const body = { to: "else@far1.example", subject: `other ${token}`, body: "Another mail under the same key" };
    const { status } = await ask(world, inbox.account, "POST", `/inboxes/${inbox.id}/send`, { body, key });
    if (status !== 422 && status !== 503) ledger.violation("I4", `a key that was reused was answered ${status}`);
  }

  /** A reply marks its thread as read, up to what its writer has seen. */
  async function replyTo(inbox: LedgerInbox): Promise<{ threadId: string; readUpToMessageId: string } | undefined> {
    const path = `/inboxes/${inbox.id}/threads?limit=5&offset=${chance.whole(0, 10)}`;
    const answer = await ask(world, inbox.account, "GET", path);
    const threads = (answer.body.data ?? []) as { id: string }[];
    if (threads.length === 0) return undefined;
    const threadId = chance.pick(threads).id;
    const last = (await readThread(world, inbox, threadId)).at(-1);
    return last && { threadId, readUpToMessageId: last.id };
  }
}
