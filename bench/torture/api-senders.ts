import type { Chance } from "../../tests/support/chance.ts";
import { readThread } from "./agents.ts";
import { type LedgerInbox, type LedgerSend, newSend } from "./ledger.ts";
import { ask, type Driver, eventually, type World } from "./world.ts";

/** A client that sends mail and repeats each request with its key until it knows the outcome. */
export function apiSender(world: World, chance: Chance, name: string, from: readonly LedgerInbox[]): Driver {
  const { ledger } = world;
  let number = 0;

  return async function sendOne() {
    const inbox = chance.pick(from);
    const more = await (chance.is(0.3) ? replyTo(inbox) : chance.is(0.15) ? forwardOf(inbox) : undefined)?.catch(
      () => undefined,
    );
    const sendIt = () => sendMail(inbox, more);
    // Two agents that have read the same answer it at once, and again: of those that ask for it, one is sent.
    if (more?.ifUnanswered === true && chance.is(0.5)) {
      await Promise.all([sendIt(), sendIt()]);
      await sendIt();
    } else await sendIt();
  };

  async function sendMail(inbox: LedgerInbox, more: More = {}): Promise<void> {
    number += 1;
    const inboxes = [...ledger.inboxes.values()];
    const toOwn = chance.is(0.25) ? chance.pick(inboxes) : undefined;
    const token = `s${name}n${number}x`;
    const send = newSend(token, inbox);
    send.toOwn = toOwn;
    if (more.ifUnanswered === true) send.unansweredBehind = more.readUpToMessageId;
    const body = {
      ...(chance.is(0.25) ? await crowdOf(send) : { to: toOwn?.address ?? farAddress(token) }),
      subject: token,
      body: chance.pick(["Hello", "<p>Hello <b>there</b></p>", "Line\n.\n..\nend", "Grüße 🦩 ".repeat(50)]),
      ...more,
    };
    // Files may come beside the request that does not name them.
    const isForm = chance.is(0.3);
    ledger.sends.set(token, send);
    for (const known of [token, ...tokensIn(body)]) ledger.copies.set(known, send);
    const once = () => request(send, body, isForm);
    // Some clients send twice; both must get the same message.
    if (chance.is(0.15)) await Promise.all([eventually(world, chance, once), eventually(world, chance, once)]);
    else await eventually(world, chance, once);
    if (chance.is(0.1)) await once().catch(() => undefined);
    if (chance.is(0.05) && send.messageIds.size > 0) await reuseKey(send).catch(() => undefined);
  }

  function farAddress(token: string): string {
    return `${token}@far${chance.whole(1, 3)}.example`;
  }

  /** The recipients of a mail to several, and its files: in the request, or as uploads. */
  async function crowdOf(send: LedgerSend): Promise<object> {
    const far = [1, 2, 3, 9].map((place) => `${send.token}r${place}x`);
    const [first = "", second = "", hidden = "", refused = ""] = far;
    send.hidden = [hidden];
    const to = [farAddress(first), { address: send.toOwn?.address ?? farAddress(second), name: "Second" }];
    const asked = { to, bcc: farAddress(hidden), ...(chance.is(0.3) && { cc: [farAddress(refused)] }) };
    const sizes = chance.is(0.6) ? [chance.whole(1, 5000), chance.is(0.1) ? 800_000 : 300] : [];
    const files = sizes.map((size, place) => Buffer.from(`${send.token} ${place}\n`.repeat(size / 10 + 1)));
    send.files = files.map((file) => file.toString("base64"));
    const attachments = await Promise.all(files.map((file, place) => attached(send, file, place)));
    return attachments.length === 0 ? asked : { ...asked, attachments };
  }

  async function attached(send: LedgerSend, file: Buffer, place: number): Promise<object> {
    const filename = `file ${place}.txt`;
    if (chance.is(0.5)) return { filename, content: file.toString("base64") };
    let uploadId: unknown;
    await eventually(world, chance, async () => {
      const path = `/uploads?filename=${encodeURIComponent(filename)}`;
      const { status, body } = await ask(world, send.inbox.account, "POST", path, { bytes: new Uint8Array(file) });
      uploadId = body.id;
      return status === 201;
    });
    return { uploadId };
  }

  /** The local parts of all foreign addresses. */
  function tokensIn(body: object): string[] {
    return [...JSON.stringify(body).matchAll(/"([a-z0-9]+)@far\d\.example"/g)].map(([, token = ""]) => token);
  }

  async function request(send: LedgerSend, body: object, isForm: boolean): Promise<boolean> {
    send.open = true;
    const asked = isForm ? { form: formOf(body) } : { body };
    const answer = await ask(world, send.inbox.account, "POST", `/inboxes/${send.inbox.id}/send`, {
      ...asked,
      key: send.key,
    });
    if (answer.status === 200) {
      send.messageIds.add(String(answer.body.messageId));
      if (send.messageIds.size > 1)
        ledger.violation("I4", `${send.key} was answered with ${[...send.messageIds].join(" and ")}`);
      return true;
    }
    if (answer.body.code === "answered_meanwhile" && send.unansweredBehind !== undefined) {
      ledger.count("sends: answered meanwhile");
      return true;
    }
    if (answer.status === 429 && send.inbox.account.sendsPerMinute !== undefined) return true;
    if (answer.status !== 503 && answer.status !== 409 && answer.status !== 500) {
      const sent = JSON.stringify({ ...body, body: undefined, attachments: undefined });
      const said = `${answer.status} at ${new Date().toISOString()}: ${JSON.stringify(answer.body)}`;
      ledger.violation("api", `send with ${send.key}, ${sent}, was answered ${said}`);
      return true;
    }
    return false;
  }

  /** The same request as a form, with its base64 contents as files. */
  function formOf(
    asked: object & { attachments?: readonly Partial<Record<"content" | "filename", string>>[] },
  ): FormData {
    const form = new FormData();
    const { attachments = [], ...body } = asked;
    const named = attachments.filter(({ content }) => content === undefined);
    const message = { ...body, ...(named.length > 0 && { attachments: named }) };
    form.append("message", new Blob([JSON.stringify(message)], { type: "application/json" }));
    for (const { content = "", filename = "" } of attachments.filter((each) => !named.includes(each))) {
      form.append("attachments", new File([Buffer.from(content, "base64")], filename, { type: "text/plain" }));
    }
    ledger.count("sends as forms");
    return form;
  }

  /** One of the last messages of the inbox, with its files or whole. */
  async function forwardOf(inbox: LedgerInbox): Promise<More | undefined> {
    const path = `/inboxes/${inbox.id}/messages?limit=20&offset=${chance.whole(0, 5)}`;
    const answer = await ask(world, inbox.account, "GET", path);
    const messages = (answer.body.data ?? []) as { id: string }[];
    if (messages.length === 0) return undefined;
    ledger.count("forwards");
    return { forwardOf: chance.pick(messages).id, ...(chance.is(0.4) && { forwardAs: "attachment" }) };
  }

  async function reuseKey({ inbox, key, token }: LedgerSend): Promise<void> {
    const body = { to: "else@far1.example", subject: `other ${token}`, body: "Another mail under the same key" };
    const { status } = await ask(world, inbox.account, "POST", `/inboxes/${inbox.id}/send`, { body, key });
    if (status !== 422 && status !== 503) ledger.violation("I4", `a key that was reused was answered ${status}`);
  }

  /** A reply marks its thread as read, up to what its writer has seen. */
  async function replyTo(inbox: LedgerInbox): Promise<More | undefined> {
    const path = `/inboxes/${inbox.id}/threads?limit=5&offset=${chance.whole(0, 10)}`;
    const answer = await ask(world, inbox.account, "GET", path);
    const threads = (answer.body.data ?? []) as { id: string }[];
    if (threads.length === 0) return undefined;
    const threadId = chance.pick(threads).id;
    const last = (await readThread(world, inbox, threadId)).at(-1);
    return last && { threadId, readUpToMessageId: last.id, ...(chance.is(0.5) && { ifUnanswered: true }) };
  }
}

/** The further fields of a reply or of a forward. */
interface More {
  threadId?: string;
  readUpToMessageId?: string;
  ifUnanswered?: boolean;
  forwardOf?: string;
  forwardAs?: string;
}
