import type { Inboxd, Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { composeMail } from "../../mail/write/compose.ts";
import type { TimeAndChance } from "../../service/time-and-chance.ts";
import { handIn, type SmtpServer } from "../smtp.ts";
import type { ReceivedEvent } from "./receiver.ts";
import { type Subscription, subscribe } from "./webhook.ts";

export interface DemoServer {
  client: Inboxd;
  smtp: SmtpServer;
  /** Whether the server ends with the demo. On any other server the demo deletes its inboxes. */
  isOurs: boolean;
}

/** Runs one step: calls `work`, prints the detail that it returns after the name of the step, and returns its result. */
export type Step = <Result>(
  name: string,
  work: () => Promise<readonly [detail: string, result: Result]>,
) => Promise<Result>;

export type Conversation = Schemas["ThreadMessages"];

type Inbox = Schemas["Inbox"];

/** Two people write to each other by SMTP and by the API. Returns the thread as one of them sees it at the end. */
export async function runStory(server: DemoServer, step: Step, world: TimeAndChance): Promise<Conversation> {
  const { client } = server;
  const [ada, grace] = await step("two inboxes", async () => {
    const made = await Promise.all(["ada", "grace"].map((name) => makeInbox(server, name, world)));
    return [made.map(({ address }) => address).join(" and "), made as [Inbox, Inbox]];
  });
  let subscription: Subscription | undefined;
  try {
    subscription = await step("webhook", async () => {
      const made = await subscribe(client, world.now, [ada.id, grace.id]);
      return [made.detail, made];
    });
    const conversation = await converse(server, { ada, grace, subscription, step, world });
    const { restore } = subscription;
    if (!server.isOurs) {
      await step("tidied up", async () => {
        const [note] = await Promise.all([restore(), removeInboxes(client, [ada, grace])]);
        return [["inboxes deleted", ...(note === undefined ? [] : [note])].join(", "), undefined];
      });
    }
    return conversation;
  } catch (error) {
    if (!server.isOurs) await removeInboxes(client, [ada, grace]).catch(() => undefined);
    throw error;
  } finally {
    await subscription?.close();
  }
}

interface Cast {
  ada: Inbox;
  grace: Inbox;
  subscription: Subscription;
  step: Step;
  world: TimeAndChance;
}

async function converse(server: DemoServer, { ada, grace, subscription, step, world }: Cast): Promise<Conversation> {
  const { client } = server;
  const { events } = subscription;
  const eventStep = events.kind === "webhook" ? "webhook received" : "event in the log";

  await step("Ada writes by SMTP", async () => [await writeBySmtp(server, ada, grace, world), undefined]);
  const first = await step(eventStep, async () => {
    const event = await events.next(grace.id);
    expect(event.message.from === ada.address, `its sender is ${event.message.from}`);
    return [shown(event, events.kind), event];
  });
  await step("Grace replies", async () => {
    const body = { to: ada.address, threadId: first.thread_id, body: "Gladly. At one?" };
    return [await send(client, grace, body, world), undefined];
  });
  const reply = await step(eventStep, async () => {
    const event = await events.next(ada.id);
    return [shown(event, events.kind), event];
  });
  await step("Ada answers by the API", async () => {
    const body = { to: grace.address, threadId: reply.thread_id, body: "See you there!", includeQuote: false };
    return [await send(client, ada, body, world), undefined];
  });
  const last = await step(eventStep, async () => {
    const event = await events.next(grace.id);
    expect(event.thread_id === first.thread_id, "it is in another thread than the mail that it answers");
    return [shown(event, events.kind), event];
  });
  const conversation = await step("one thread", async () => {
    const found = await client.threads.messages(first.thread_id).page();
    expect(found.total === 3, `it has ${found.total} messages, not 3`);
    return [`${found.threadId} has all ${found.total} messages`, found];
  });
  await step("marked as read", async () => {
    const mark = { is_read: true, up_to_message_id: last.message.id };
    const { isRead } = await client.threads.change(first.thread_id, mark);
    expect(isRead, "it stayed unread");
    return ["nothing newer came in meanwhile", undefined];
  });
  return conversation;
}

function makeInbox({ client, isOurs }: DemoServer, name: string, world: TimeAndChance): Promise<Inbox> {
  const username = isOurs ? name : `${name}-${world.randomBytes(4).toHex()}`;
  return client.inboxes.create({ username, externalId: "inboxd-demo" });
}

async function removeInboxes(client: Inboxd, inboxes: readonly Inbox[]): Promise<void> {
  await Promise.all(inboxes.map(({ id }) => client.inboxes.delete(id)));
}

async function writeBySmtp({ smtp }: DemoServer, from: Inbox, to: Inbox, world: TimeAndChance): Promise<string> {
  const raw = composeMail({
    messageId: `${world.randomBytes(16).toHex()}@demo.localhost`,
    date: world.now(),
    from: { address: from.address, name: "Ada" },
    to: [{ address: to.address }],
    cc: [],
    subject: "Lunch?",
    bodyText: "Shall we have lunch on Thursday?",
    replyTo: undefined,
    bodyHtml: undefined,
    inReplyTo: undefined,
    references: [],
    autoSubmitted: undefined,
    headers: [],
    attachments: [],
  });
  return handIn(smtp, { envelopeFrom: from.address, to: to.address, raw });
}

async function send(client: Inboxd, from: Inbox, email: Schemas["NewEmail"], world: TimeAndChance): Promise<string> {
  const idempotencyKey = `demo-${world.randomBytes(16).toHex()}`;
  const { status, threadId } = await client.messages.send(from.id, email, { idempotencyKey });
  expect(status !== "failed", "it could not be delivered");
  return `${status}, in ${threadId}`;
}

function shown({ event_id, message }: ReceivedEvent, kind: "webhook" | "log"): string {
  return `${kind === "webhook" ? "signature verified, " : ""}${message.subject} (${event_id})`;
}

function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(`Cannot go on: ${otherwise}`);
}
