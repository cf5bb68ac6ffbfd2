import createClient from "openapi-fetch";
// Written by openapi-typescript from the document of a running service, beside a copy of this file.
import type { components, paths } from "./api.ts";

export interface Told {
  inbox: components["schemas"]["Inbox"];
  messages: components["schemas"]["ListedMessage"][];
  sent: components["schemas"]["SendResult"][];
  thread: components["schemas"]["ChangedThread"];
  events: components["schemas"]["Event"][];
  refused: components["schemas"]["Problem"];
}

export interface Place {
  baseUrl: string;
  apiKey: string;
  webhookUrl: string;
  /** The one call of the ten that is no API's: a mail comes in. */
  receive(address: string): Promise<void>;
}

/** The ten lines of the README, by a client that was generated. Not one cast: that it compiles is half of what is tested. */
export async function tenCalls({ baseUrl, apiKey, webhookUrl, receive }: Place): Promise<Told> {
  const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${apiKey}` } });

  const { data: inbox } = await api.POST("/v1/inboxes", { body: { username: "ada", externalId: "user-7" } });
  if (inbox === undefined) throw new Error("Cannot make an inbox");
  const path = { id: inbox.id };

  const { data: webhook } = await api.PUT("/v1/webhook", { body: { url: webhookUrl } });
  if (webhook?.secret === undefined) throw new Error("Cannot set the webhook");

  await receive(inbox.address);

  const { data: messages } = await api.GET("/v1/inboxes/{id}/messages", { params: { path } });
  const { data: threads } = await api.GET("/v1/inboxes/{id}/threads", { params: { path, query: { is_read: false } } });
  const thread = threads?.data[0];
  if (messages === undefined || thread === undefined) throw new Error("Cannot find the mail that came in");

  const { data: conversation } = await api.GET("/v1/threads/{id}/messages", { params: { path: { id: thread.id } } });
  const question = conversation?.data[0];
  if (question === undefined) throw new Error("Cannot read the conversation");

  const { data: reply } = await api.POST("/v1/inboxes/{id}/send", {
    params: { path, header: { "Idempotency-Key": "reply-1" } },
    body: { threadId: thread.threadId, to: question.fromAddr, body: "Hello Jane" },
  });
  const { data: welcome } = await api.POST("/v1/inboxes/{id}/send", {
    params: { path, header: { "Idempotency-Key": "welcome-7" } },
    body: { to: "bob@example.com", subject: "Welcome", body: "<p>Hello <b>Bob</b></p>" },
  });
  if (reply === undefined || welcome === undefined) throw new Error("Cannot send");

  const marking = { params: { path: { id: thread.id } }, body: { is_read: true } };
  const { data: marked } = await api.PATCH("/v1/threads/{id}", marking);
  const { data: events } = await api.GET("/v1/events");
  if (marked === undefined || events === undefined) throw new Error("Cannot end");

  const { error: refused } = await api.GET("/v1/messages/{id}", { params: { path: { id: "none" } } });
  if (refused === undefined) throw new Error("Cannot be: there is no such message");
  return { inbox, messages: messages.data, sent: [reply, welcome], thread: marked, events: events.data, refused };
}
