import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../../src/database/db.ts";
import { authenticationOf, takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { untilLogShowsAll } from "../../../support/log-horizon.ts";
import { mailOf } from "../../../support/mail.ts";
import { newAccount } from "../../../support/sends.ts";
import { countEvents } from "../../../support/stored.ts";
import { untilAnswered } from "../../../support/until.ts";
import type { WorldInbox } from "../../../support/world.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

// biome-ignore lint/suspicious/noExplicitAny: an event is looked into at any depth
type Told = any;

describe.each(enginesHere())("The log of events by type (%s)", (engine) => {
  const world = oneWorldOn(engine);
  let apiKey: string;
  beforeAll(async () => {
    apiKey = await newAccount(world());
  });

  async function asked(search = ""): Promise<{ data: Told[]; hasMore: boolean; last?: string | null }> {
    await untilLogShowsAll(world().service.deps.db.api);
    const { status, body } = await world().api(`/v1/events${search}`, { apiKey });
    expect([search, status]).toEqual([search, 200]);
    return body;
  }

  async function made(username: string, externalId?: string): Promise<WorldInbox> {
    const body = { username, ...(externalId && { externalId }) };
    return (await world().api("/v1/inboxes", { method: "POST", body, apiKey })).body;
  }

  async function sent(from: WorldInbox, to: string): Promise<Told> {
    const body = { to, subject: "Hello", body: "How are you?" };
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const { body: accepted } = await world().api(`/v1/inboxes/${from.id}/send`, {
      method: "POST",
      body,
      headers,
      apiKey,
    });
    return untilAnswered(async () => {
      const { body: message } = await world().api(`/v1/messages/${accepted.messageId}`, { apiKey });
      return message.status === "pending" ? undefined : message;
    });
  }

  const typesOf = ({ data }: { data: Told[] }) => data.map(({ event }) => event);

  test("has each change once for requests with its type, and received mail for requests without types", async () => {
    const ada = await made("log-ada", "user-7");
    const toHerself = await sent(ada, ada.address);
    const lost = await sent(ada, "nobody-at-all@inbox.localhost");
    await world().api(`/v1/inboxes/${ada.id}`, { method: "DELETE", apiKey });
    const bob = await made("log-bob");
    await world().deliver(mailOf({ subject: "For Bob" }), bob.address);

    expect(typesOf(await asked())).toEqual(["message.received"]);
    expect(await asked()).not.toHaveProperty("last");
    const all = await asked("?types=*");
    // The events of a deleted inbox are removed, apart from its creation and deletion.
    expect(typesOf(all)).toEqual(["inbox.created", "inbox.deleted", "inbox.created", "message.received"]);
    expect(all.last).toBe(all.data.at(-1).event_id);
    const [created, deleted] = all.data;
    const inbox = { id: ada.id, address: ada.address, external_id: "user-7", created_at: created.occurred_at };
    const head = { inbox_id: ada.id, external_id: "user-7" };
    expect(created).toEqual({ event: "inbox.created", ...idAndTime(created), ...head, inbox });
    expect(deleted).toEqual({
      event: "inbox.deleted",
      ...idAndTime(deleted),
      ...head,
      inbox: { ...inbox, deleted_at: deleted.occurred_at },
    });
    expect([toHerself.status, lost.status]).toEqual(["sent", "failed"]);
  });

  test("has for a tenant the events of its inboxes alone, also of a deleted one", async () => {
    const [one, other, gone] = [
      await made("tenant-one", "t-1"),
      await made("tenant-other", "t-2"),
      await made("tenant-gone", "t-1"),
    ];
    for (const inbox of [one, other, gone])
      await world().deliver(mailOf({ subject: inbox.address.split("@")[0] ?? "" }), inbox.address);
    await world().api(`/v1/inboxes/${gone.id}`, { method: "DELETE", apiKey });
    const subjects = ({ data }: { data: Told[] }) => data.map(({ message }) => message?.subject);
    const theirs = await asked("?external_id=t-1");
    expect(subjects(theirs)).toEqual(["tenant-one"]);
    expect(theirs.last).toStartWith("evt_");
    expect(subjects(await asked("?external_id=t-1,t-2"))).toEqual(["tenant-one", "tenant-other"]);
    expect(subjects(await asked(`?external_id=t-1&inbox_id=${other.id}`))).toEqual([]);
    const all = await asked("?external_id=t-1&types=*");
    expect(all.data.every(({ external_id }) => external_id === "t-1")).toBe(true);
    expect(typesOf(all)).toEqual(["inbox.created", "inbox.created", "message.received", "inbox.deleted"]);
    const backwards = await asked("?external_id=t-1&types=*&order=desc");
    expect(typesOf(backwards)).toEqual(typesOf(all).toReversed());
    expect(subjects(await asked("?external_id=t-3&types=*"))).toEqual([]);
    const many = Array.from({ length: 101 }, (_, index) => `t-${index}`).join();
    expect((await world().api(`/v1/events?external_id=${many}`, { apiKey })).status).toBe(400);
  });

  test("has the fields of the contract, with the state at that time", async () => {
    const eve = await made("log-eve");
    const taken = await sent(eve, eve.address);
    const refused = await sent(eve, "nobody-at-all@inbox.localhost");
    const { data } = await asked(`?types=message.sent,message.failed&inbox_id=${eve.id}`);
    expect(typesOf({ data })).toEqual(["message.sent", "message.failed"]);
    const refusal = refused.failure;
    const told = {
      code: refusal.code,
      enhanced_code: refusal.enhancedCode,
      message: refusal.message,
      reason: "refused",
    };
    const ofMessage = ({ id, rfcMessageId, toAddr, createdAt, threadId, status, providerMessageId }: Told) => ({
      thread_id: threadId,
      message: {
        id,
        rfc_message_id: rfcMessageId,
        from: eve.address,
        to: toAddr,
        cc: [],
        subject: "Hello",
        body_text: "How are you?",
        attachments: [],
        status,
        provider_message_id: providerMessageId,
        created_at: createdAt,
        recipients: [
          {
            address: toAddr,
            name: null,
            type: "to",
            status,
            provider_message_id: null,
            failure: status === "failed" ? told : null,
          },
        ],
        metadata: {},
      },
    });
    const [ofTaken, ofRefused] = [ofMessage(taken), ofMessage(refused)];
    const head = { inbox_id: eve.id, external_id: null };
    expect(data[0]).toEqual({
      event: "message.sent",
      ...idAndTime(data[0]),
      ...head,
      ...ofTaken,
      message: { ...ofTaken.message, sent_at: data[0].occurred_at },
    });
    expect(data[1]).toEqual({
      event: "message.failed",
      ...idAndTime(data[1]),
      ...head,
      ...ofRefused,
      message: {
        ...ofRefused.message,
        failed_at: data[1].occurred_at,
        failure: told,
      },
    });
    // The order of fields is part of the contract.
    expect(Object.keys(data[1].message).join()).toBe(
      "id,rfc_message_id,from,to,cc,subject,body_text,attachments,status,provider_message_id,created_at,failed_at,failure,recipients,metadata",
    );
    const db = world().service.deps.db.api;
    expect([await countEvents(db, "message.sent", eve.id), await countEvents(db, "message.failed", eve.id)]).toEqual([
      1, 1,
    ]);
  });

  test("filters automated mail, and includes more fields on request", async () => {
    const dan = await made("log-dan");
    const robot = "Auto-Submitted: auto-replied\r\n";
    await world().deliver(mailOf({ subject: "A person" }), dan.address);
    await world().deliver(robot + mailOf({ subject: "A robot" }), dan.address);
    const subjects = async (words: string) =>
      (await asked(`?inbox_id=${dan.id}${words}`)).data.map(({ message }) => message?.subject);
    expect(await subjects("&automated=false")).toEqual(["A person"]);
    expect(await subjects("&automated=true")).toEqual(["A robot"]);
    expect(await subjects("&automated=true&types=*")).toEqual([undefined, "A robot"]);

    const [plain] = (await asked(`?inbox_id=${dan.id}&automated=true`)).data;
    const metadata = { ticket: "7" };
    await world().api(`/v1/threads/${plain.thread_id}`, { method: "PATCH", body: { metadata }, apiKey });
    const [more] = (await asked(`?inbox_id=${dan.id}&automated=true&include=recipients,automated,html,extracted`)).data;
    const {
      body_html,
      from_name,
      reply_to,
      extracted_text,
      extracted_html,
      codes,
      links,
      automated,
      to_list,
      tag,
      thread_metadata,
      ...rest
    } = more.message;
    expect(rest).toEqual(plain.message);
    expect(automated).toMatchObject({ kind: "auto_reply" });
    expect([to_list, tag, thread_metadata]).toEqual([["ada@inbox.localhost"], null, metadata]);
    expect({ body_html, reply_to, extracted_html, codes, links }).toEqual({
      body_html: null,
      reply_to: null,
      extracted_html: null,
      codes: [],
      links: [],
    });
    expect([typeof from_name, extracted_text]).toEqual([typeof from_name, plain.message.body_text]);
    expect(Object.keys(more.message).slice(-11).join()).toBe(
      "body_html,from_name,reply_to,extracted_text,extracted_html,codes,links,automated,to_list,tag,thread_metadata",
    );
  });

  test("says who really sent a mail only if asked to", async () => {
    const ida = await made("log-ida");
    await takeIn(world().service.deps, ida, [{}], authenticationOf());
    await takeIn(world().service.deps, ida, [{}]);
    const messages = async (include: string) =>
      (await asked(`?inbox_id=${ida.id}&types=message.received${include}`)).data.map(({ message }) => message);
    const plain = await messages("");
    const [proven, unchecked] = await messages("&include=spam,authentication,recipients");
    const { clientAddress, tls, ...others } = authenticationOf();
    expect(JSON.stringify(proven.authentication)).toBe(
      JSON.stringify({ ...others, client_address: clientAddress, tls }),
    );
    expect([proven.spam, unchecked.authentication, unchecked.spam]).toEqual([null, null, null]);
    expect(Object.keys(proven).slice(-5)).toEqual(["to_list", "tag", "thread_metadata", "authentication", "spam"]);
    const { authentication, spam, to_list, tag, thread_metadata, ...rest } = proven;
    expect(rest).toEqual(plain[0]);
  });

  test("can be read for several inboxes, in order, and from the start", async () => {
    const [one, two, other] = [await made("log-one"), await made("log-two"), await made("log-other")];
    for (const [inbox, subject] of [
      ...([
        [one, "1"],
        [two, "2"],
        [other, "not asked for"],
        [one, "3"],
        [two, "4"],
      ] as const),
    ]) {
      await world().deliver(mailOf({ subject }), inbox.address);
    }
    const both = `inbox_id=${one.id},${two.id}`;
    const page = async (after: string) => asked(`?${both}&limit=3&after=${after}`);
    const first = await page("start");
    expect(first.data.map(({ message }) => message.subject)).toEqual(["1", "2", "3"]);
    expect([first.hasMore, first.last]).toEqual([true, first.data.at(-1).event_id]);
    const second = await page(String(first.last));
    expect([second.data.map(({ message }) => message.subject), second.hasMore]).toEqual([["4"], false]);
    const end = await page(String(second.last));
    expect(end).toEqual({ data: [], hasMore: false, last: null });
  });

  test("examines 10,000 events in one call, and returns its position", async () => {
    const key = await newAccount(world());
    const inbox: WorldInbox = (await world().api("/v1/inboxes", { method: "POST", body: {}, apiKey: key })).body;
    const db = world().service.deps.db.api;
    await query(
      db,
      sql`insert into events (id, account_id, inbox_id, type, occurred_at, data)
          select 'evt_' || lpad(n::text, 26, '0'), i.account_id, i.id, 'inbox.created', now(),
            '{"address": "a@b.example", "externalId": null, "createdAt": "2026-03-21T10:05:00.000Z"}'
          from generate_series(1, 10000) n, inboxes i where i.id = ${inbox.id}`,
    );
    await world().deliver(mailOf({ subject: "Behind all of them" }), inbox.address);
    await untilLogShowsAll(db);
    const page = async (after: string): Promise<Told> =>
      (await world().api(`/v1/events?types=message.received&after=${after}`, { apiKey: key })).body;
    const first = await page("start");
    expect([first.data, first.hasMore]).toEqual([[], true]);
    const second = await page(first.last);
    expect(second.data.map(({ message }: Told) => message.subject)).toEqual(["Behind all of them"]);
    const back = async (before: string): Promise<Told> =>
      (
        await world().api(`/v1/events?types=inbox.created&inbox_id=${inbox.id}&order=desc&limit=100${before}`, {
          apiKey: key,
        })
      ).body;
    const newest = await back("");
    expect([newest.data.length, newest.hasMore, newest.last]).toEqual([100, true, newest.data.at(-1).event_id]);
    const seldom = async (before: string): Promise<Told> =>
      (await world().api(`/v1/events?types=inbox.deleted&order=desc${before}`, { apiKey: key })).body;
    const passed = await seldom("");
    expect([passed.data, passed.hasMore]).toEqual([[], true]);
    expect(await seldom(`&before=${passed.last}`)).toMatchObject({ data: [], hasMore: false });
    // Requests without filters are not affected.
    const { body } = await world().api("/v1/events?limit=1", { apiKey: key });
    expect([body.data.length, body.hasMore]).toEqual([1, false]);
  });

  const wrong: [string, string][] = [
    ["a type that there is none of", "types=message.read"],
    ["an empty type", "types="],
    ["a word that nothing is included by", "include=headers"],
    ["automated in words", "automated=maybe"],
    ["a hundred and one inboxes", `inbox_id=${Array.from({ length: 101 }, (_, n) => `inb_${n}`).join()}`],
  ];
  test.each(wrong)("refuses %s", async (_, search) => {
    const { status, body } = await world().api(`/v1/events?${search}`, { apiKey });
    expect([status, body.code]).toEqual([400, "invalid_query"]);
  });

  test("accepts names of future event types", async () => {
    expect((await asked("?types=message.bounced,domain.verified")).data).toEqual([]);
  });
});

function idAndTime({ event_id, occurred_at }: Told) {
  return { event_id, occurred_at };
}
