import type { Inboxd, InboxdOptions } from "../../sdk/typescript/src/inboxd.ts";

/** The usual calls of a user of the client, in any runtime. It imports nothing, so each runtime passes in its own client. */
export async function tour(Client: typeof Inboxd, options: InboxdOptions, sends: number) {
  const inboxd = new Client({ ...options, retries: 10 });
  const inbox = await inboxd.inboxes.create({});
  const over = new AbortController();
  const heard: string[] = [];
  const listening = (async () => {
    for await (const event of inboxd.events.stream({ after: "start", types: ["message.sent"], signal: over.signal })) {
      if (event.inbox_id !== inbox.id || event.event !== "message.sent") continue;
      heard.push(event.message.subject);
      if (heard.length === sends) return;
    }
  })();
  const subjects = Array.from({ length: sends }, (_, index) => `mail ${index}`);
  const waiting = [...subjects];
  const lane = async () => {
    for (let subject = waiting.shift(); subject !== undefined; subject = waiting.shift()) {
      await inboxd.messages.send(inbox.id, { to: `bob@example.com`, subject, body: "Hello" });
    }
  };
  await Promise.all(Array.from({ length: 20 }, lane));
  await listening;
  const listed: string[] = [];
  for await (const { subject } of inboxd.messages.list(inbox.id, { limit: 7 })) listed.push(subject);
  const read: string[] = [];
  for await (const { id } of inboxd.threads.list(inbox.id, { limit: 7, is_read: true })) {
    await inboxd.request("PATCH", "/v1/threads/{id}", { path: { id }, body: { is_read: false } }).catch(async () => {
      await inboxd.threads.change(id, { is_read: false });
    });
    read.push(id);
  }
  const refused = await inboxd.inboxes.get("inb_none").catch((error) => [error.name, error.status, error.code]);
  // The proxy or the browser that doubled the request may pass on the second answer.
  await inboxd.inboxes.delete(inbox.id).catch((error) => {
    if (error.code !== "not_found") throw error;
  });
  return { sent: subjects.toSorted(), heard: heard.toSorted(), listed: listed.toSorted(), read: read.length, refused };
}
