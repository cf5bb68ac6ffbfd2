import { composeMail } from "../../mail/write/compose.ts";
import { smtpRelay } from "../../relay/relay.ts";
import { bytesBody } from "../../relay/relayed-mail.ts";
import type { TimeAndChance } from "../../service/time-and-chance.ts";
import type { ApiClient } from "../api-client.ts";
import type { ReceivedEvent } from "./receiver.ts";
import { type Hearing, hear } from "./webhook.ts";

export interface DemoServer {
  api: ApiClient;
  smtp: { host: string; port: number };
  /** Whether inboxes go with the server, or have to be taken away. */
  isOurs: boolean;
}

/** Does one step: what it returns first is shown beside the step. */
export type Step = <Result>(
  name: string,
  work: () => Promise<readonly [detail: string, result: Result]>,
) => Promise<Result>;

export interface Conversation {
  threadId: string;
  subject: string;
  data: { id: string; direction: string; fromAddr: string; toAddr: string; bodyText: string }[];
  total: number;
}

interface Inbox {
  id: string;
  address: string;
}

interface Sent {
  threadId: string;
  status: string;
}

/** Two people write to each other by every way that there is; the conversation as one of them sees it in the end. */
export async function tellStory(server: DemoServer, step: Step, world: TimeAndChance): Promise<Conversation> {
  const { api } = server;
  const [ada, grace] = await step("two inboxes", async () => {
    const made = await Promise.all(["ada", "grace"].map((name) => makeInbox(server, name, world)));
    return [made.map(({ address }) => address).join(" and "), made as [Inbox, Inbox]];
  });
  let hearing: Hearing | undefined;
  try {
    hearing = await step("webhook", async () => {
      const made = await hear(api, world.now, [ada.id, grace.id]);
      return [made.detail, made];
    });
    const conversation = await converse(server, { ada, grace, hearing, step, world });
    const { putBack } = hearing;
    if (!server.isOurs) {
      await step("tidied up", async () => {
        const [told] = await Promise.all([putBack(), removeInboxes(api, [ada, grace])]);
        return [["inboxes deleted", ...(told === undefined ? [] : [told])].join(", "), undefined];
      });
    }
    return conversation;
  } catch (error) {
    if (!server.isOurs) await removeInboxes(api, [ada, grace]).catch(() => undefined);
    throw error;
  } finally {
    await hearing?.close();
  }
}

interface Cast {
  ada: Inbox;
  grace: Inbox;
  hearing: Hearing;
  step: Step;
  world: TimeAndChance;
}

async function converse(server: DemoServer, { ada, grace, hearing, step, world }: Cast): Promise<Conversation> {
  const { api } = server;
  const { events } = hearing;
  const heard = events.kind === "webhook" ? "webhook received" : "event in the log";

  await step("Ada writes by SMTP", async () => [await writeBySmtp(server, ada, grace, world), undefined]);
  const first = await step(heard, async () => {
    const event = await events.next(grace.id);
    expect(event.message.from === ada.address, `its sender is ${event.message.from}`);
    return [shown(event, events.kind), event];
  });
  await step("Grace replies", async () => {
    const body = { to: ada.address, threadId: first.thread_id, body: "Gladly. At one?" };
    return [await send(api, grace, body, world), undefined];
  });
  const reply = await step(heard, async () => {
    const event = await events.next(ada.id);
    return [shown(event, events.kind), event];
  });
  await step("Ada answers by the API", async () => {
    const body = { to: grace.address, threadId: reply.thread_id, body: "See you there!", includeQuote: false };
    return [await send(api, ada, body, world), undefined];
  });
  const last = await step(heard, async () => {
    const event = await events.next(grace.id);
    expect(event.thread_id === first.thread_id, "it is in another thread than the mail that it answers");
    return [shown(event, events.kind), event];
  });
  const conversation = await step("one thread", async () => {
    const path = `/v1/threads/${first.thread_id}/messages`;
    const found = await api.ask<Conversation>("GET", path);
    expect(found.total === 3, `it has ${found.total} messages, not 3`);
    return [`${found.threadId} has all ${found.total} messages`, found];
  });
  await step("marked as read", async () => {
    const body = { is_read: true, up_to_message_id: last.message.id };
    const { isRead } = await api.ask<{ isRead: boolean }>("PATCH", `/v1/threads/${first.thread_id}`, { body });
    expect(isRead, "it stayed unread");
    return ["nothing newer came in meanwhile", undefined];
  });
  return conversation;
}

function makeInbox({ api, isOurs }: DemoServer, name: string, world: TimeAndChance): Promise<Inbox> {
  const username = isOurs ? name : `${name}-${world.randomBytes(4).toHex()}`;
  return api.ask<Inbox>("POST", "/v1/inboxes", { body: { username, externalId: "inboxd-demo" } });
}

async function removeInboxes(api: ApiClient, inboxes: readonly Inbox[]): Promise<void> {
  await Promise.all(inboxes.map(({ id }) => api.ask("DELETE", `/v1/inboxes/${id}`)));
}

async function writeBySmtp({ smtp }: DemoServer, from: Inbox, to: Inbox, world: TimeAndChance): Promise<string> {
  const way = { kind: "smtp", ...smtp, tls: "opportunistic", login: undefined } as const;
  const relay = smtpRelay(way, { hostname: "demo.localhost" });
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
  try {
    const recipients = [{ address: to.address }];
    const [outcome] = await relay.send({
      envelopeFrom: from.address,
      recipients,
      body: bytesBody(raw),
      smtpUtf8: false,
    });
    if (outcome?.kind === "sent") return outcome.reply;
    throw new Error(`Cannot hand in mail at ${smtp.host}:${smtp.port}: ${outcome?.failure.message}`);
  } finally {
    await relay.close();
  }
}

async function send(api: ApiClient, from: Inbox, body: object, world: TimeAndChance): Promise<string> {
  const headers = { "idempotency-key": `demo-${world.randomBytes(16).toHex()}` };
  const { status, threadId } = await api.ask<Sent>("POST", `/v1/inboxes/${from.id}/send`, { body, headers });
  expect(status !== "failed", "it could not be delivered");
  return `${status}, in ${threadId}`;
}

function shown({ event_id, message }: ReceivedEvent, kind: "webhook" | "log"): string {
  return `${kind === "webhook" ? "signature verified, " : ""}${message.subject} (${event_id})`;
}

function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new Error(`Cannot go on: ${otherwise}`);
}
