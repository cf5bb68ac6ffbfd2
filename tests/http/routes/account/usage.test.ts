import { afterAll, beforeAll, expect, test } from "bun:test";
import { prune } from "../../../../src/workers/prune.ts";
import { mailOf } from "../../../support/mail.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { untilAnswered } from "../../../support/until.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" } });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const usage = async (apiKey: string, search = "") => (await world.api(`/v1/usage${search}`, { apiKey })).body;

let mails = 0;

async function receive(apiKey: string, inboxId: string): Promise<string> {
  mails += 1;
  const { body } = await world.api(`/v1/inboxes/${inboxId}`, { apiKey });
  const raw = mailOf({ headers: [`Message-ID: <${mails}@x.example>`] });
  await world.deliver(raw, body.address);
  return raw;
}

/** The usage once this many mails are counted. They are counted in the background. */
async function countedUsage(apiKey: string, search: string, mails: number) {
  return untilAnswered(async () => {
    const found = await usage(apiKey, search);
    return found.totals.received + found.totals.sent >= mails ? found : undefined;
  });
}

interface Counts {
  received: number;
  sent: number;
  inboxesCreated: number;
}

/** The entries with usage, with the numbers of received and sent mails and created inboxes. */
const busy = ({ data }: { data: (Counts & { day?: string; inboxId?: string })[] }) =>
  data
    .filter(({ received, sent, inboxesCreated }) => received + sent + inboxesCreated > 0)
    .map(({ day, inboxId, received, sent, inboxesCreated }) => [day ?? inboxId, received, sent, inboxesCreated]);

test("usage counts the mail of all inboxes by day and by inbox, and keeps that of deleted ones", async () => {
  const [apiKey, other] = [await newAccount(world), await newAccount(world)];
  const nothing = { received: 0, receivedBytes: 0, sent: 0, sentBytes: 0, inboxesCreated: 0 };
  expect(await usage(apiKey)).toEqual({
    from: "2026-02-20",
    to: "2026-03-21",
    countedUntil: world.clock.now().toISOString(),
    totals: nothing,
    data: Array.from({ length: 30 }, (_, index) => ({
      day: new Date(Date.UTC(2026, 1, 20 + index)).toISOString().slice(0, 10),
      ...nothing,
    })),
    current: { inboxes: 0, messages: 0, storageBytes: 0 },
  });
  const [one, two] = [await newInbox(world, apiKey), await newInbox(world, apiKey)];
  const raw = await receive(apiKey, one);
  await receive(apiKey, two);
  await send(world, two, { body: "Grüße" }, { apiKey, waits: true });
  await receive(other, await newInbox(world, other));
  world.clock.pass(86_400_000);
  await receive(apiKey, two);
  world.clock.pass(2 * 86_400_000);
  await send(world, one, { body: "Grüße" }, { apiKey, waits: true });
  const all = await countedUsage(apiKey, "", 5);
  expect(busy(all)).toEqual([
    ["2026-03-21", 2, 1, 2],
    ["2026-03-22", 1, 0, 0],
    ["2026-03-24", 0, 1, 0],
  ]);
  const received = 3 * raw.length;
  expect(all.totals).toEqual({ received: 3, receivedBytes: received, sent: 2, sentBytes: 14, inboxesCreated: 2 });
  expect(all.current).toEqual({ inboxes: 2, messages: 5, storageBytes: received + 14 });
  expect(all.countedUntil <= world.clock.now().toISOString()).toBe(true);
  expect(busy(await usage(apiKey, "?from=2026-03-22&to=2026-03-23"))).toEqual([["2026-03-22", 1, 0, 0]]);
  expect(busy(await usage(apiKey, "?group_by=inbox"))).toEqual([
    [two, 2, 1, 1],
    [one, 1, 1, 1],
  ]);
  expect(busy(await usage(apiKey, `?inbox_id=${one}`))).toEqual([
    ["2026-03-21", 1, 0, 1],
    ["2026-03-24", 0, 1, 0],
  ]);
  const { body } = await world.api("/v1/tokens", { method: "POST", body: { inboxId: one }, apiKey });
  const ofToken = await usage(body.token, "?group_by=inbox");
  expect(busy(ofToken)).toEqual([[one, 1, 1, 1]]);
  expect(ofToken.totals).toMatchObject({ received: 1, sent: 1 });
  expect(ofToken.current).toEqual({ inboxes: 1, messages: 2, storageBytes: raw.length + 7 });
  expect((await usage(body.token, `?inbox_id=${two}`)).code).toBe("not_found");
  await world.api(`/v1/inboxes/${two}`, { method: "DELETE", apiKey });
  const { deps } = world.service;
  world.clock.pass(120_000);
  await prune({ ...deps, eventRetentionDays: 30 });
  const after = await usage(apiKey);
  expect(after.totals).toEqual(all.totals);
  expect(after.current).toEqual(ofToken.current);
});

test.each([
  ["a day that there is not", "?from=2026-02-30", "from"],
  ["an instant", "?to=2026-03-21T10:05:00Z", "to"],
  ["days in the wrong order", "?from=2026-03-22&to=2026-03-21", "from"],
  ["an unknown grouping", "?group_by=week", "group_by"],
  ["367 days", "?from=2025-03-20&to=2026-03-21", "from"],
])("%s is refused", async (_, search, parameter) => {
  const { code, errors } = await usage(world.apiKey, search);
  expect([code, errors[0].parameter]).toEqual(["invalid_query", parameter]);
});

test("366 days are counted, and the inbox of another account is not found", async () => {
  expect((await usage(world.apiKey, "?from=2025-03-21&to=2026-03-21")).data.length).toBe(366);
  const inboxId = await newInbox(world, await newAccount(world));
  expect((await usage(world.apiKey, `?inbox_id=${inboxId}`)).code).toBe("not_found");
});
