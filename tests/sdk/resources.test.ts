import { afterAll, beforeAll, expect, test } from "bun:test";
import { Inboxd, InboxdError, type StreamOptions } from "../../sdk/typescript/src/inboxd.ts";
import { failureOf } from "../support/failure.ts";
import { untilLogShowsAll } from "../support/log-horizon.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
let inboxd: Inboxd;
beforeAll(async () => {
  world = await startWorld();
  inboxd = new Inboxd({ baseUrl: world.service.apiUrl, apiKey: world.apiKey });
});
afterAll(() => world[Symbol.asyncDispose]());

test("an inbox is found by its address or its username", async () => {
  const inbox = await inboxd.inboxes.create({ username: "ada", externalId: undefined });
  expect(await inboxd.inboxes.find("ada")).toEqual(inbox);
  expect(await inboxd.inboxes.find("Ada@inbox.localhost")).toEqual(inbox);
  expect(await inboxd.inboxes.find("nobody")).toBeUndefined();
});

test("the result of a send says whether an earlier call sent the mail", async () => {
  const { id } = await inboxd.inboxes.create();
  const email = { to: "bob@example.com", subject: "Hi", body: "Hello", cc: undefined };
  const statuses: number[] = [];
  const options = {
    idempotencyKey: "once",
    onResponse: ({ status }: { status: number }) => void statuses.push(status),
  };
  const first = await inboxd.messages.send(id, email, options);
  const again = await inboxd.messages.send(id, email, options);
  expect([first.replayed, again.replayed, again.messageId]).toEqual([false, true, first.messageId]);
  expect(statuses).toEqual([200, 200]);
});

test("an uploaded file is attached by its id", async () => {
  const { id } = await inboxd.inboxes.create();
  const upload = await inboxd.uploads.create("list.csv", new Blob(["a,b\n"]));
  expect(upload).toMatchObject({ filename: "list.csv", sizeBytes: 4 });
  const attachments = [{ uploadId: upload.id }];
  const email = { to: "bob@example.com", subject: "A list", body: "See the file", attachments };
  const { messageId } = await inboxd.messages.send(id, email);
  expect(new TextDecoder().decode(await inboxd.attachments.get(messageId, "list.csv"))).toBe("a,b\n");
});

test("suppressions are added, listed page by page, and deleted", async () => {
  const data = ["a", "b", "c"].map((name) => ({ address: `${name}@example.com` }));
  expect(await inboxd.suppressions.add({ data })).toEqual({ created: 3, existing: 0 });
  const addresses: string[] = [];
  for await (const { id, address } of inboxd.suppressions.list({ limit: 2 })) {
    addresses.push(address);
    await inboxd.suppressions.delete(id);
  }
  expect(addresses.toSorted()).toEqual(data.map(({ address }) => address));
  expect((await inboxd.suppressions.list().page()).data).toEqual([]);
});

test("the log is read backwards, page by page, and each event is got by its id", async () => {
  const { id, address } = await inboxd.inboxes.create();
  for (const subject of ["One", "Two", "Three"]) await world.deliver(`Subject: ${subject}\r\n\r\nHello\r\n`, address);
  const db = world.service.deps.db.api;
  for (const types of [undefined, ["message.received"] as const]) {
    await untilLogShowsAll(db);
    const seen: string[] = [];
    for await (const event of inboxd.events.list({ order: "desc", inbox_id: id, types, limit: 2 })) {
      expect(await inboxd.events.get(event.event_id)).toEqual(event);
      if (event.event === "message.received") seen.push(event.message.subject);
    }
    expect(seen).toEqual(["Three", "Two", "One"]);
  }
  const [event] = (await inboxd.events.list({ inbox_id: id }).page()).data;
  const more = await inboxd.events.get(event?.event_id ?? "", { include: ["automated"] });
  expect(more).toMatchObject({ event_id: event?.event_id, message: { automated: null } });
});

test("headers of the client go with every request, those of streams too", async () => {
  const sent: (string | null)[] = [];
  const proxied = new Inboxd({
    baseUrl: world.service.apiUrl,
    apiKey: world.apiKey,
    headers: { "x-proxy": "let me through" },
    fetch(url, init) {
      sent.push(new Headers(init.headers).get("x-proxy"));
      return fetch(url, init);
    },
  });
  const { id } = await proxied.inboxes.create();
  await world.deliver("Subject: One\r\n\r\nHello\r\n", (await proxied.inboxes.get(id)).address);
  for await (const _ of proxied.events.stream({ after: "start", inbox_id: id })) break;
  expect(sent).toEqual(Array(3).fill("let me through"));
});

/** The first events of a stream that does not read the log. */
async function streamed(client: Inboxd, options: StreamOptions, count: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { event_id } of client.events.stream({ ...options, readsLog: false })) {
    ids.push(event_id);
    if (ids.length === count) break;
  }
  return ids;
}

test("a stream gives its position before the first event, and reports each failure that it retries", async () => {
  const { id, address } = await inboxd.inboxes.create();
  for (const subject of ["One", "Two"]) await world.deliver(`Subject: ${subject}\r\n\r\nHello\r\n`, address);
  const [first] = await streamed(inboxd, { after: "start", inbox_id: id }, 1);
  let isDown = true;
  const failing = new Inboxd({
    baseUrl: world.service.apiUrl,
    apiKey: world.apiKey,
    async fetch(url, init) {
      if (!isDown) return fetch(url, init);
      isDown = false;
      return Response.json({ code: "service_unavailable", detail: "Cannot serve: not yet" }, { status: 503 });
    },
  });
  const troubles: InboxdError[] = [];
  const positions: string[] = [];
  const onTrouble = (error: InboxdError) => void troubles.push(error);
  const onReady = async (position: string) => void positions.push(position);
  const [second] = await streamed(failing, { after: first, inbox_id: id, onTrouble, onReady }, 1);
  expect(second).not.toBe(first);
  expect(positions).toEqual([first] as string[]);
  expect(troubles.map(({ status, message }) => [status, message])).toEqual([[503, "Cannot serve: not yet"]]);
});

test("a stream that does not read the log throws what a retry cannot mend", async () => {
  const unknown = "evt_01jpw7z1x2e9a8r5k3m0t6vqhd";
  expect(await failureOf(streamed(inboxd, { after: unknown }, 1))).toMatchObject({ status: 404, code: "not_found" });
  const baseUrl = "http://127.0.0.1:9";
  const away = new Inboxd({ baseUrl, apiKey: "ibx_1", fetch: () => Promise.reject(new TypeError("refused")) });
  expect(await failureOf(streamed(away, {}, 1))).toBeInstanceOf(InboxdError);
  expect(await failureOf(streamed(away, {}, 1))).toMatchObject({ status: 0, code: "no_answer", baseUrl });
});
