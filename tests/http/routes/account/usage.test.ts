import { afterAll, beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { mailOf } from "../../../support/mail.ts";
import { newAccount, newInbox, send } from "../../../support/sends.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({ env: { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0" } });
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const usage = async (apiKey: string, search = "") => (await world.api(`/v1/usage${search}`, { apiKey })).body;

let mails = 0;

async function receive(apiKey: string, inboxId: string): Promise<void> {
  mails += 1;
  const { body } = await world.api(`/v1/inboxes/${inboxId}`, { apiKey });
  await world.deliver(mailOf({ headers: [`Message-ID: <${mails}@x.example>`] }), body.address);
}

/** The days with mail, with the numbers of received and sent mails. */
const busy = ({ data }: { data: { day: string; received: number; sent: number }[] }) =>
  data.filter(({ received, sent }) => received + sent > 0).map(({ day, received, sent }) => [day, received, sent]);

test("usage counts the mail of all inboxes by day", async () => {
  const [apiKey, other] = [await newAccount(world), await newAccount(world)];
  const [one, two] = [await newInbox(world, apiKey), await newInbox(world, apiKey)];
  expect(await usage(apiKey)).toEqual({
    from: "2026-02-20",
    to: "2026-03-21",
    countedUntil: world.clock.now().toISOString(),
    totals: { received: 0, sent: 0 },
    data: Array.from({ length: 30 }, (_, index) => ({
      day: new Date(Date.UTC(2026, 1, 20 + index)).toISOString().slice(0, 10),
      received: 0,
      sent: 0,
    })),
  });
  await receive(apiKey, one);
  await receive(apiKey, two);
  await send(world, two, {}, { apiKey, waits: true });
  await receive(other, await newInbox(world, other));
  world.clock.pass(86_400_000);
  await receive(apiKey, two);
  world.clock.pass(2 * 86_400_000);
  await send(world, one, {}, { apiKey, waits: true });
  const all = await usage(apiKey);
  expect(busy(all)).toEqual([
    ["2026-03-21", 2, 1],
    ["2026-03-22", 1, 0],
    ["2026-03-24", 0, 1],
  ]);
  expect(all.totals).toEqual({ received: 3, sent: 2 });
  expect(busy(await usage(apiKey, "?from=2026-03-22&to=2026-03-23"))).toEqual([["2026-03-22", 1, 0]]);
  expect(busy(await usage(apiKey, `?inbox_id=${one}`))).toEqual([
    ["2026-03-21", 1, 0],
    ["2026-03-24", 0, 1],
  ]);
  const { body } = await world.api("/v1/tokens", { method: "POST", body: { inboxId: one }, apiKey });
  expect((await usage(body.token)).totals).toEqual({ received: 1, sent: 1 });
  expect((await usage(body.token, `?inbox_id=${two}`)).code).toBe("not_found");
  await world.api(`/v1/inboxes/${two}`, { method: "DELETE", apiKey });
  expect((await usage(apiKey)).totals).toEqual({ received: 1, sent: 1 });
});

test("each message of an uneven history is counted on its day", async () => {
  const apiKey = await newAccount(world);
  const inboxId = await newInbox(world, apiKey);
  // Numbers of messages of some days, from none to many, with one at the first and the last millisecond of a day.
  const history: [day: string, count: number][] = [
    ["2025-12-31", 1],
    ["2026-01-01", 2],
    ["2026-01-05", 1],
    ["2026-01-06", 1],
    ["2026-01-07", 100],
    ["2026-01-31", 3],
    ["2026-02-01", 1],
  ];
  const { db } = world.service.deps;
  let count = 0;
  for (const [day, messages] of history) {
    await query(
      db.api,
      sql`insert into messages (id, inbox_id, thread_id, seq, direction, direction_seq, status, created_at, rfc_message_id,
            message_id_hash, from_addr, to_addr, subject, body_text, size_bytes, attachment_count, cc, to_addrs)
          select 'msg_' || ${inboxId} || (${count} + number), ${inboxId}, 'thr_' || ${inboxId}, ${count} + number, 'inbound', ${count} + number,
            'received', ${day}::timestamp at time zone 'UTC'
              + case number when ${messages} then interval '86399999 ms' else interval '0' end,
            '', gen_random_uuid(), '', '', '', '', 0, 0, '{}', '{}' from generate_series(1, ${messages}::int) number`,
    );
    count += messages;
  }
  await query(
    db.api,
    sql`update inboxes set message_count = ${count}, inbound_count = ${count}, last_message_at = '2026-02-01T23:59:59.999Z' where id = ${inboxId}`,
  );
  const counted = async (from: string, to: string) =>
    busy(await usage(apiKey, `?from=${from}&to=${to}`)).map(([day, received]) => [day, received]);
  expect(await counted("2025-12-31", "2026-02-01")).toEqual(history);
  for (const [index, [from]] of history.entries()) {
    for (const [length, [to]] of history.slice(index).entries()) {
      expect(await counted(from, to)).toEqual(history.slice(index, index + length + 1));
    }
  }
  expect(await counted("2026-01-08", "2026-01-30")).toEqual([]);
});

test.each([
  ["a day that there is not", "?from=2026-02-30", "from"],
  ["an instant", "?to=2026-03-21T10:05:00Z", "to"],
  ["days in the wrong order", "?from=2026-03-22&to=2026-03-21", "from"],
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
