import { expect, test } from "bun:test";
import { type SQL, sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { findWebhook } from "../../src/store/events/webhooks.ts";
import { migrate, migrations } from "../../src/store/migrate.ts";
import { enginesHere, openEngine } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { scriptedSmtp } from "../support/scripted-smtp.ts";
import { send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

/** The statements here are those of the version that knew one webhook an account and one type of event, word for word where it matters. */

const before = migrations.findIndex(({ tag }) => tag === "0008_events_and_endpoints");

test.each(enginesHere())(
  "on the %s database a webhook and its promises outlive the upgrade",
  async (engine) => {
    const under = await openEngine(engine);
    const ask = (statement: SQL) => query<Record<string, unknown>>(under.db.api, statement);
    // An embedded database begins with the schema of today.
    await ask(sql`drop schema public cascade`);
    await ask(sql`create schema public`);
    await migrate(under.db, migrations.slice(0, before));
    await ask(
      sql`insert into accounts (id, name, plan, created_at) values ('acc_1', 'one', 'free', now()), ('acc_2', 'two', 'free', now())`,
    );
    await ask(
      sql`insert into webhooks (account_id, url, secret, created_at) values ('acc_1', 'https://one.example/', 'whsec_1', '2026-03-21')`,
    );
    await ask(sql`insert into events (id, account_id, inbox_id, thread_id, message_id, type, occurred_at)
                values ('evt_1', 'acc_1', 'inb_1', 'thr_1', 'msg_1', 'message.received', now())`);
    await ask(sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, due_at, created_at)
                values ('evt_1', 'webhook', 'acc_1', 'inb_1', 'acc_1', now(), now())`);

    await migrate(under.db);
    // One that was started before goes on writing as it knows.
    await ask(
      sql`insert into webhooks (account_id, url, secret, created_at) values ('acc_2', 'https://two.example/', 'whsec_2', now())`,
    );
    const [one, two] = await Promise.all(["acc_1", "acc_2"].map((account) => findWebhook(under.db.api, account)));
    expect(one).toMatchObject({
      ...{ url: "https://one.example/", secret: "whsec_1", createdAt: new Date("2026-03-21T00:00:00.000Z") },
      ...{ eventTypes: ["message.received"], inboxIds: null, skipAutomated: false, include: [], disabledAt: null },
    });
    for (const webhook of [one, two]) expect(webhook?.id).toMatch(/^whk_[0-9a-z]{26}$/);
    expect(one?.id).not.toBe(two?.id);
    const kept = sql`select o.kind, o.endpoint_id as "endpointId", e.message_id as "messageId", e.data from outbox o join events e on e.id = o.subject_id`;
    expect(await ask(kept)).toEqual([{ kind: "webhook", endpointId: null, messageId: "msg_1", data: null }]);
    await under.remove();
  },
  30_000,
);

test("what an older process takes in is delivered as ours is, and recovery brings it to the endpoints that it does not know", async () => {
  await using world = await startWorld();
  const [first, second] = await Promise.all([startReceiver(), startReceiver()]);
  await world.api("/v1/webhook", { method: "PUT", body: { url: first.url } });
  const body = { url: second.url, eventTypes: ["*"] };
  const endpoint = (await world.api("/v1/webhooks", { method: "POST", body })).body;
  const { id, address } = await world.inbox("ada");
  await world.deliver(mailOf({ messageId: "ours@example.com", subject: "Ours" }), address);
  await first.request(1);
  await told(second, "Ours");

  await takeInAsBefore(world, id);
  const theirs = JSON.parse((await told(first, "Theirs")).body);
  const ours = JSON.parse((await told(first, "Ours")).body);
  const names = (payload: { message: object }) => [Object.keys(payload), Object.keys(payload.message)];
  expect(names(theirs)).toEqual(names(ours));
  expect({ ...theirs.message, id: ours.message.id }).toEqual({ ...ours.message, subject: "Theirs" });
  expect((await world.api("/v1/events")).body.data.map(subjectOf)).toEqual(["Ours", "Theirs"]);
  expect(second.requests.map(({ body }) => subjectOf(JSON.parse(body)))).not.toContain("Theirs");

  const recovered = await world.api(`/v1/webhooks/${endpoint.id}/recover`, {
    method: "POST",
    body: { after: "start" },
  });
  expect(recovered.status).toBe(202);
  await told(second, "Theirs");
  await Promise.all([first.close(), second.close()]);
}, 60_000);

test("its log shows none of the events that it does not know, and it claims none of their promises", async () => {
  await using world = await startWorld({ env: { SEND_WAIT_MS: "30000" } });
  const receiver = await startReceiver();
  receiver.behave(() => undefined);
  const body = { url: receiver.url, eventTypes: ["*"], include: ["html"] };
  await world.api("/v1/webhooks", { method: "POST", body });
  const { id, address } = await world.inbox("ada");
  await world.deliver(mailOf({ messageId: "in@example.com" }), address);
  const headers = { "idempotency-key": "one" };
  const mail = { to: "jane@example.com", subject: "Hello", body: "Hello Jane" };
  await world.api(`/v1/inboxes/${id}/send`, { method: "POST", headers, body: mail });
  await receiver.request(1);

  const db = world.service.deps.db.api;
  const types = (await world.api("/v1/events?types=*")).body.data.map(({ event }: { event: string }) => event);
  expect(types).toEqual(["inbox.created", "message.received", "message.sent"]);
  const asBefore = sql`select e.type from (
      select e.*, i.external_id from events e join inboxes i on i.id = e.inbox_id and i.deleted_at is null
      order by e.written_by, e.id limit 50
    ) e join messages m on m.id = e.message_id order by e.written_by, e.id`;
  expect(await query(db, asBefore)).toEqual([{ type: "message.received" }]);
  const claimable = sql`select subject_id from outbox where kind in ('relay', 'webhook', 'parse')`;
  expect(await query(db, claimable)).toEqual([]);
  await receiver.close();
}, 60_000);

test("what it puts off waits on as it says, with the words of the attempt before", async () => {
  const relay = await scriptedSmtp({
    answer: (command) => (command.startsWith("RCPT") ? "451 4.7.1 Try later" : undefined),
  });
  await using world = await startWorld({ env: { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` } });
  const { id } = await world.inbox("ada");
  const { body: sent } = await send(world, id);
  const waiting = () =>
    untilAnswered(async () => (await world.api("/v1/outbox?state=waiting")).body.data[0] as Record<string, unknown>);
  expect(await waiting()).toMatchObject({ id: sent.messageId, attempt: 1, lastError: "451 4.7.1 Try later" });

  const db = world.service.deps.db.api;
  await query(db, sql`update outbox set state = 'running', attempt = 2 where subject_id = ${sent.messageId}`);
  await query(
    db,
    sql`with settled as materialized (
          select * from json_to_recordset(${JSON.stringify([{ subjectId: sent.messageId, attempt: 2, isUnsure: false, dueAt: "2026-03-22" }])}::json)
            as settled ("subjectId" text, attempt int, "dueAt" timestamptz, "isUnsure" boolean)
        )
        update outbox o set state = 'waiting', due_at = "dueAt", unsure = unsure or "isUnsure" from settled
        where o.subject_id = settled."subjectId" and o.attempt = settled.attempt and o.state = 'running' and "dueAt" is not null`,
  );
  expect(await waiting()).toMatchObject({
    attempt: 2,
    dueAt: "2026-03-22T00:00:00.000Z",
    lastError: "451 4.7.1 Try later",
  });
  await relay.close();
}, 60_000);

/** The mail that is there once more, as a process of the version before would write it, with its event and its promise. */
async function takeInAsBefore(world: World, inboxId: string): Promise<void> {
  const db = world.service.deps.db.api;
  await query(
    db,
    sql`with mail as (
          insert into messages (id, inbox_id, thread_id, seq, direction, direction_seq, status, created_at, rfc_message_id,
            message_id_hash, content_hash, from_addr, from_name, to_addr, cc, reply_to, subject, body_text, body_html,
            attachment_count, source_id, size_bytes, in_reply_to, reference_ids, provider_message_id, failure, envelope_from, truncated)
          select 'msg_zzzzzzzzzzzzzzzzzzzzzzzzzz', inbox_id, thread_id, seq + 1, direction, direction_seq + 1, status, created_at,
            rfc_message_id, message_id_hash, content_hash, from_addr, from_name, to_addr, cc, reply_to, 'Theirs', body_text, body_html,
            attachment_count, source_id, size_bytes, in_reply_to, reference_ids, provider_message_id, failure, envelope_from, truncated
          from messages where inbox_id = ${inboxId} returning *
        ), told as (
          insert into events (id, account_id, inbox_id, thread_id, message_id, type, occurred_at)
          select 'evt_zzzzzzzzzzzzzzzzzzzzzzzzzz', i.account_id, inbox_id, thread_id, mail.id, 'message.received', mail.created_at
          from mail join inboxes i on i.id = inbox_id
        ), promised as (
          insert into outbox (subject_id, kind, account_id, inbox_id, lane, due_at, created_at)
          select 'evt_zzzzzzzzzzzzzzzzzzzzzzzzzz', 'webhook', i.account_id, inbox_id, i.account_id, mail.created_at, mail.created_at
          from mail join inboxes i on i.id = inbox_id
        )
        update inboxes set message_count = message_count + 1, inbound_count = inbound_count + 1 where id = ${inboxId}`,
  );
}

/** Resolves with what tells of the mail with this subject. */
async function told(receiver: Receiver, subject: string) {
  for (let number = 1; ; number += 1) {
    const request = await receiver.request(number);
    if (subjectOf(JSON.parse(request.body)) === subject) return request;
  }
}

function subjectOf(payload: { message?: { subject: string } }): string | undefined {
  return payload.message?.subject;
}
