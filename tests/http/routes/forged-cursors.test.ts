import { expect, test } from "bun:test";
import { newGrant } from "../../support/connecting.ts";
import { enginesHere } from "../../support/engines.ts";
import { mailOf } from "../../support/mail.ts";
import { answer, startReceiver } from "../../support/receiver.ts";
import { quarantinedMail } from "../../support/ruled.ts";
import { newDraft } from "../../support/sends.ts";
import type { World } from "../../support/world.ts";
import { worldsOn } from "../../support/world-on.ts";

/** A list that goes on by a cursor: in which ways it is asked, and the greatest number that a cursor of it can have. */
type List = readonly [path: string, queries: readonly string[], most: bigint];

const [engine = "embedded"] = enginesHere();
const startWorld = worldsOn(engine);
const integer = 2n ** 31n - 1n;
/** Of an integer, of an instant in the database and in the language, and of 64 bits. */
const outOfRange = [2n ** 31n, 9_999_999_999n, 253_402_300_800_000n, 8_640_000_000_000_001n, 10n ** 20n - 1n];

test("A cursor with another number goes on there, or is refused, in every list", async () => {
  await using world = await startWorld();
  const receiver = await startReceiver({ behaviour: answer(500) });
  const { inboxId, eventId, threadId, webhookId } = await fill(world, receiver.url);
  const lists: readonly List[] = [
    ["/v1/audit", ["limit=1"], 0n],
    ["/v1/drafts", ["limit=1"], 0n],
    // The first at the default endpoint, the third at another.
    [`/v1/events/${eventId}/deliveries`, ["limit=1", "limit=3"], integer],
    ["/v1/grants", ["limit=1"], 0n],
    ["/v1/inboxes", ["limit=1"], 0n],
    [
      `/v1/inboxes/${inboxId}/messages`,
      ["", "direction=inbound", "since=2020-01-01", "q=order", `thread_id=${threadId}`].map(
        (query) => `limit=1&${query}`,
      ),
      integer,
    ],
    [`/v1/inboxes/${inboxId}/threads`, ["limit=1", "limit=1&folder=all", "limit=1&label=orders"], integer],
    ["/v1/messages", ["limit=1", "limit=1&q=order"], BigInt(Date.UTC(2200, 0) - 1)],
    ["/v1/outbox", ["limit=1", "limit=1&kind=webhook"], BigInt(Date.UTC(2200, 0) - 1)],
    ["/v1/quarantine", ["limit=1"], 0n],
    ["/v1/suppressions", ["limit=1"], 0n],
    [`/v1/webhooks/${webhookId}/deliveries`, ["limit=1"], 2n ** 64n - 1n],
  ];
  expect(lists.map(([path]) => path.replace(/(?<=\/)[a-z]{3}_[^/]+/, "{id}"))).toEqual(await listsWithCursor(world));

  for (const [path, queries, most] of lists) {
    for (const query of queries) {
      const list = `${path}?${query}`;
      const { nextCursor } = (await world.api(list)).body;
      expect([list, typeof nextCursor]).toEqual([list, "string"]);
      const forged = (number: bigint) => world.api(`${list}&cursor=${withNumber(nextCursor, number)}`);
      if (most > 0n) expect([list, (await forged(most)).status]).toEqual([list, 200]);
      for (const number of [most + 1n, ...outOfRange.filter((number) => number > most)]) {
        const { status, body } = await forged(number);
        expect([list, number, status, body.code]).toEqual([list, number, 400, "invalid_query"]);
      }
    }
  }
  await receiver.close();
});

/** Two of everything that is listed, and of an event two attempts at each of two endpoints. */
async function fill(world: World, url: string) {
  const inbox = await world.inbox("ada");
  await world.api("/v1/webhook", { method: "PUT", body: { url } });
  const further = await world.api("/v1/webhooks", { method: "POST", body: { url: `${url}further` } });
  for (const address of ["eve@example.net", "joe@example.net"]) {
    await world.api("/v1/suppressions", { method: "POST", body: { address } });
  }
  await world.inbox("bob");
  for (const _ of [1, 2]) await newDraft(world, inbox.id);
  for (const _ of [1, 2]) await newGrant(world);
  for (const _ of [1, 2]) await quarantinedMail(world, inbox);
  await world.deliver(mailOf({ subject: "Your order", messageId: "first@example.com" }), inbox.address);
  await world.deliver(mailOf({ subject: "Your order", headers: ["In-Reply-To: <first@example.com>"] }), inbox.address);
  const eventId = (await world.api("/v1/events")).body.data[0].event_id;
  const attempts = async () => (await world.api(`/v1/events/${eventId}/deliveries`)).body.data;
  while ((await attempts()).filter(({ error }: { error: string | null }) => error !== null).length < 2);
  for (const webhookId of [undefined, further.body.id]) {
    await world.api(`/v1/events/${eventId}/redeliver`, { method: "POST", body: { webhookId } });
  }
  while ((await attempts()).length < 4);
  await world.deliver(mailOf({ subject: "My invoice" }), inbox.address);
  const threads = (await world.api(`/v1/inboxes/${inbox.id}/threads`)).body.data as { id: string }[];
  const labelled = { ids: threads.map(({ id }) => id), add_labels: ["orders"] };
  await world.api(`/v1/inboxes/${inbox.id}/threads`, { method: "PATCH", body: labelled });
  const threadId = threads[1]?.id;
  return { inboxId: inbox.id, eventId, threadId, webhookId: further.body.id };
}

async function listsWithCursor(world: World): Promise<string[]> {
  const { paths } = (await (await world.fetch("/openapi.json")).json()) as {
    paths: Record<string, { get?: { parameters?: { name: string }[] } }>;
  };
  return (
    Object.entries(paths)
      .flatMap(([path, { get }]) => (get?.parameters?.some(({ name }) => name === "cursor") ? [path] : []))
      // An operator's list of entries is that of `/v1/audit`, and needs a key of its own.
      .filter((path) => path !== "/v1/admin/audit")
      .sort()
  );
}

function withNumber(cursor: string, number: bigint): string {
  const [kind, , ...rest] = Buffer.from(cursor, "base64url").toString("latin1").split(".");
  return Buffer.from([kind, number, ...rest].join(".")).toString("base64url");
}
