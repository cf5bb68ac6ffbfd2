import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connectPostgres } from "../src/database/postgres.ts";
import { enginesHere } from "./support/engines.ts";
import { openStream, type StreamClient } from "./support/event-stream.ts";
import { type Fleet, startFleet } from "./support/fleet.ts";
import { runInboxd } from "./support/inboxd.ts";
import { mailOf } from "./support/mail.ts";
import { inData } from "./support/raw-smtp.ts";
import { answer, type ReceivedRequest, type Receiver, startReceiver } from "./support/receiver.ts";
import { tally } from "./support/sends.ts";
import { untilSo } from "./support/until.ts";

const sizes = enginesHere().includes("postgres") ? [2, 4] : [];

describe.each(sizes)("%i processes on one Postgres behind a balancer are as one", (count) => {
  let fleet: Fleet;
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver({ behaviour: failsFirstOfEveryThird });
    fleet = await startFleet(count, {
      WEBHOOK_URL: receiver.url,
      WEBHOOK_RETRY_SECONDS: "1,1,1",
      COLD_RECIPIENT_DAILY: "0",
      TRUSTED_PROXIES: "127.0.0.1",
    });
  }, 120_000);
  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
    await receiver?.close();
  }, 30_000);

  test("exactly 10 of 50 simultaneous sends are accepted, five times over", async () => {
    for (let round = 0; round < 5; round += 1) {
      const before = [...fleet.http.served];
      const { id } = await fleet.inbox();
      const answers = await Promise.all(times(50, (index) => send(id, `limit-${id}-${index}`)));
      expect(tally(answers)).toEqual({ "200": 10, "429 rate_limit_exceeded": 40 });
      expect((await fleet.api(`/v1/inboxes/${id}/messages`)).body.total).toBe(10);
      expect(fleet.http.served.every((served, index) => served - (before[index] ?? 0) >= 10)).toBe(true);
    }
  }, 60_000);

  test("50 simultaneous sends with one key make one message and 49 replays", async () => {
    const { id } = await fleet.inbox();
    const answers = await Promise.all(times(50, () => send(id, `key-${id}`)));
    expect(tally(answers)).toEqual({ "200": 50 });
    expect(new Set(answers.map(({ body }) => body.messageId)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true")).toHaveLength(49);
    expect((await fleet.api(`/v1/inboxes/${id}/messages`)).body.total).toBe(1);
  }, 60_000);

  test("of agents that answer one mail at once by all processes, one answers, ten times over", async () => {
    const { id, address } = await fleet.inbox();
    for (const round of times(10, (index) => index)) {
      expect(await fleet.deliver(mailOf({ messageId: `ask-${round}@${id}`, to: address }), address)).toStartWith(
        "250 ",
      );
      const [asked] = (await fleet.api(`/v1/inboxes/${id}/messages?limit=1`)).body.data;
      const answers = await Promise.all(
        times(8, (index) =>
          fleet.api(`/v1/inboxes/${id}/send`, {
            method: "POST",
            headers: { "idempotency-key": `answer-${asked.id}-${index}`, prefer: "respond-async" },
            body: {
              threadId: asked.threadId,
              body: `Answer ${index}`,
              readUpToMessageId: asked.id,
              ifUnanswered: true,
            },
          }),
        ),
      );
      expect(tally(answers)).toEqual({ "200": 1, "409 answered_meanwhile": 7 });
      const sent = answers.find(({ status }) => status === 200);
      for (const { status, body } of answers) if (status === 409) expect(body.messageId).toBe(sent?.body.messageId);
    }
  }, 60_000);

  test("accepted mail goes out once, by any process", async () => {
    const inboxes = await Promise.all(times(6, () => fleet.inbox()));
    const answers = await Promise.all(
      inboxes.flatMap(({ id }) => times(10, (index) => send(id, `out-${id}-${index}`))),
    );
    expect(tally(answers)).toEqual({ "200": 60 });
    const ids = answers.map(({ body }) => body.messageId);
    await untilSo(async () => {
      const messages = await Promise.all(ids.map((id) => fleet.api(`/v1/messages/${id}`)));
      return messages.every(({ body }) => body.status === "sent");
    });
    const sent = fleet.sent();
    expect(ids.map((id) => sent.filter((mail) => mail.includes(`<${id}@`)).length)).toEqual(ids.map(() => 1));
  }, 60_000);

  test("each mail is stored once, and its event is once in the log and at the receiver, attempt after attempt", async () => {
    const [one, other] = await Promise.all([fleet.inbox(), fleet.inbox()]);
    const mails = times(30, (index) => mailOf({ messageId: `${index}@${one.id}`, subject: `Mail ${index}` }));
    // Each three times at once, for both inboxes.
    const replies = await Promise.all(
      mails.flatMap((mail) => times(3, () => fleet.deliver(mail, [one.address, other.address]))),
    );
    expect(new Set(replies)).toEqual(new Set(["250 2.0.0 Ok: queued"]));
    expect(fleet.smtp.served.every((served) => served >= 10)).toBe(true);

    for (const { id } of [one, other]) {
      const messages = (await fleet.api(`/v1/inboxes/${id}/messages?limit=100`)).body;
      expect(messages.total).toBe(30);
      const subjects = messages.data.map(({ subject }: { subject: string }) => subject);
      expect(new Set(subjects).size).toBe(30);
      for (const message of messages.data) {
        const raw = await fleet.api(`/v1/messages/${message.id}/raw`);
        expect(raw.body).toBe(mails[placeIn(message.subject)] ?? "");
      }
      const events = await eventsOf(id, 30);
      await untilSo(() => isDelivered(events));
      expect(new Set(events.map(({ message }) => message.id))).toEqual(
        new Set(messages.data.map((message: { id: string }) => message.id)),
      );
      for (const { event_id: eventId } of events) {
        const attempts = await deliveriesOf(eventId);
        expect(attempts.map(({ attempt }) => attempt)).toEqual(attempts.map((_, index) => index + 1));
        expect(attempts.map(({ status }) => status)).toEqual(isHard(eventId) ? [500, 200] : [200]);
        const seen = requestsOf(id).filter(({ event_id }) => event_id === eventId);
        expect(seen.map(({ attempt }) => attempt)).toEqual(attempts.map(({ attempt }) => attempt));
      }
    }
  }, 90_000);

  test("deliveries of an inbox start in the order of its mail if mails come one by one", async () => {
    await using claims = await recordedClaims(fleet);
    const { id, address } = await fleet.inbox();
    for (const index of times(40, (index) => index)) {
      const mail = mailOf({ messageId: `${index}@${id}`, subject: `Mail ${index}` });
      expect(await fleet.deliver(mail, address)).toStartWith("250 ");
    }
    const events = await eventsOf(id, 40);
    const placeOf = new Map(events.map(({ event_id, message }) => [event_id, placeIn(message.subject)]));
    expect(inClaimedOrder(await claims.list(), placeOf)).toEqual(times(40, (place) => place));
    // The receiver may see another order: of the connections that can be read, Linux tells first those that it has told of just before.
    const seen = firstsOf(id).map(({ message }) => placeIn(message.subject));
    expect(seen.toSorted((left, right) => left - right)).toEqual(times(40, (place) => place));
  }, 60_000);

  test("deliveries start in order if mails come together: no process takes later ones while another starts earlier ones", async () => {
    await using claims = await recordedClaims(fleet);
    for (const _ of times(3, (round) => round)) {
      const { id, address } = await fleet.inbox();
      await Promise.all(
        times(60, (index) => fleet.deliver(mailOf({ messageId: `${index}@${id}`, subject: `Mail ${index}` }), address)),
      );
      const events = await eventsOf(id, 60);
      const messages = (await fleet.api(`/v1/inboxes/${id}/messages?limit=100`)).body.data;
      const arrived = messages.map((message: { id: string }) => message.id).toReversed();
      const placeOf = new Map(events.map((event) => [event.event_id, arrived.indexOf(event.message.id)]));
      // The receiver may see another order, since it reads from many connections.
      const claimed = (await claims.list()).filter(({ eventId }) => placeOf.has(eventId));
      expect(claimed).toHaveLength(60);
      expect(inClaimedOrder(claimed, placeOf)).toEqual(times(60, (place) => place));
      const runs = claimed.filter(({ transaction }, index) => transaction !== claimed[index - 1]?.transaction);
      expect(runs).toHaveLength(new Set(claimed.map(({ transaction }) => transaction)).size);
    }
  }, 90_000);

  test("the log, streams and deliveries have the mail of each inbox in the order of its numbers, also while rows are locked", async () => {
    await using claims = await recordedClaims(fleet);
    const inboxes = await Promise.all(times(12, () => fleet.inbox()));
    const addresses = inboxes.map(({ address }) => address);
    const [follower] = fleet.processes;
    const stream = await openStream(`${follower?.api}/v1/events/stream`, {
      authorization: `Bearer ${fleet.apiKey}`,
    });
    await stream.frame(({ event }) => event === "ready");
    const mails = times(480, (index) => ({
      raw: mailOf({ messageId: `held-${index}@x.example`, subject: `Mail ${index}` }),
      to: addresses.filter((_, at) => at === index % 12 || at === (index * 5 + 3) % 12),
    }));
    {
      await using _ = holdingRows(
        fleet.env.DATABASE_URL ?? "",
        inboxes.map(({ id }) => id),
      );
      const waiting = mails.values();
      // A busy machine may refuse a mail for now. Its sender then sends it again, as any mail server does.
      const senders = times(80, async () => {
        for (const { raw, to } of waiting)
          await untilSo(async () => (await fleet.deliver(raw, to)).startsWith("250 "), 60_000);
      });
      await Promise.all(senders);
    }

    const toldByStream = Map.groupBy(await untilStreamed(stream, mails.flatMap(({ to }) => to).length), inboxOf);
    const inversions = { log: 0, stream: 0, deliveries: 0 };
    for (const { id, address } of inboxes) {
      const count = mails.filter(({ to }) => to.includes(address)).length;
      const events = await eventsOf(id, count);
      const messages = (await fleet.api(`/v1/inboxes/${id}/messages?limit=100`)).body.data;
      const numbers = new Map(messages.map((message: { id: string }, at: number) => [message.id, count - at]));
      const numberOf = new Map(events.map((event) => [event.event_id, Number(numbers.get(event.message.id))]));
      inversions.log += inversionsOf(events.map((event) => Number(numbers.get(event.message.id))));
      inversions.stream += inversionsOf(
        (toldByStream.get(id) ?? []).map((event) => Number(numbers.get(event.message.id))),
      );
      inversions.deliveries += inversionsOf(inClaimedOrder(await claims.list(), numberOf));
    }
    expect(inversions).toEqual({ log: 0, stream: 0, deliveries: 0 });
  }, 90_000);

  test("a thread that is marked as read while mail arrives stays unread", async () => {
    const { id, address } = await fleet.inbox();
    for (const round of times(15, (index) => index)) {
      const root = `root-${round}@${id}`;
      await fleet.deliver(mailOf({ messageId: root, subject: `Round ${round}` }), address);
      const [seen] = (await fleet.api(`/v1/inboxes/${id}/messages?limit=1`)).body.data;
      const read = { is_read: true, up_to_message_id: seen.id };
      const late = mailOf({ messageId: `late-${root}`, inReplyTo: root, subject: `Re: Round ${round}` });
      const [reply, marked] = await Promise.all([
        fleet.deliver(late, address),
        fleet.api(`/v1/threads/${seen.threadId}`, { method: "PATCH", body: read }),
      ]);
      expect([reply.slice(0, 3), marked.status]).toEqual(["250", 200]);
      const [thread] = (await fleet.api(`/v1/inboxes/${id}/threads?limit=1`)).body.data;
      expect(thread.id).toBe(seen.threadId);
      expect([thread.messageCount, thread.isRead]).toEqual([2, false]);
    }
  }, 60_000);

  test("the other processes know a new inbox and a new key at once, and all refuse a revoked key", async () => {
    for (const maker of fleet.processes) {
      const made = await fleet.api("/v1/inboxes", { method: "POST", body: {}, process: maker });
      for (const process of fleet.processes) {
        expect((await fleet.api(`/v1/inboxes/${made.body.id}`, { process })).status).toBe(200);
      }
      const replies = await Promise.all(fleet.processes.map(() => fleet.deliver(mailOf(), made.body.address)));
      expect(replies.map((reply) => reply.slice(0, 3))).toEqual(fleet.processes.map(() => "250"));
    }

    const created = await runInboxd(["key", "create", "--json"], { env: fleet.env });
    const { apiKey, id } = JSON.parse(created.stdout);
    const statuses = () =>
      Promise.all(fleet.processes.map(async (process) => (await fleet.api("/v1/inboxes", { apiKey, process })).status));
    expect(await statuses()).toEqual(fleet.processes.map(() => 200));
    expect((await runInboxd(["key", "revoke", id], { env: fleet.env })).code).toBe(0);
    await untilSo(async () => (await statuses()).every((status) => status === 401), 2000);
  }, 60_000);

  test("mail for an inbox that another process deletes is refused, also after its recipient was accepted", async () => {
    const [{ id, address }, living] = await Promise.all([fleet.inbox(), fleet.inbox()]);
    const senders = await Promise.all(fleet.processes.map(({ smtpPort }) => inData(smtpPort, address)));
    const toBoth = await Promise.all(
      fleet.processes.map(({ smtpPort }) => inData(smtpPort, [address, living.address])),
    );
    const [deleter] = fleet.processes;
    if (deleter === undefined) throw new Error("No process runs");
    const deleted = await fleet.api(`/v1/inboxes/${id}`, { method: "DELETE", process: deleter });
    expect(deleted.status).toBeLessThan(300);

    const replies = await Promise.all(
      [...senders, ...toBoth].map((sender) => {
        sender.send(`${mailOf()}.\r\n`);
        return sender.reply().finally(() => sender.destroy());
      }),
    );
    expect(replies).toEqual([
      ...fleet.processes.map(() => "550 5.1.1 No such inbox here any more"),
      ...fleet.processes.map(() => "250 2.0.0 Ok: queued"),
    ]);
    expect((await fleet.api(`/v1/inboxes/${living.id}/messages`)).body.total).toBe(1);
    await untilSo(async () => {
      const refused = await Promise.all(fleet.processes.map(() => fleet.deliver(mailOf(), address)));
      return refused.every((reply) => reply === "550 5.1.1 No such inbox here");
    }, 2000);
  }, 60_000);

  function send(inboxId: string, key: string) {
    return fleet.api(`/v1/inboxes/${inboxId}/send`, {
      method: "POST",
      headers: { "idempotency-key": key, prefer: "respond-async" },
      body: { to: "jane@example.com", subject: "Hello", body: "Hello Jane" },
    });
  }

  /** The log of an inbox, once it has this number of events and the receiver has each. */
  async function eventsOf(inboxId: string, count: number): Promise<Notice[]> {
    await untilSo(() => firstsOf(inboxId).length >= count);
    let events: Notice[] = [];
    await untilSo(async () => {
      events = (await fleet.api(`/v1/events?inbox_id=${inboxId}&limit=100`)).body.data;
      return events.length === count;
    });
    return events;
  }

  async function isDelivered(events: readonly Notice[]): Promise<boolean> {
    const logs = await Promise.all(events.map(({ event_id }) => deliveriesOf(event_id)));
    return logs.every((attempts) => attempts.at(-1)?.status === 200);
  }

  async function deliveriesOf(eventId: string): Promise<{ attempt: number; status: number }[]> {
    return (await fleet.api(`/v1/events/${eventId}/deliveries`)).body.data;
  }

  function requestsOf(inboxId: string): Notice[] {
    return receiver.requests.map(noticeOf).filter(({ inbox_id }) => inbox_id === inboxId);
  }

  function firstsOf(inboxId: string): Notice[] {
    return requestsOf(inboxId).filter(({ attempt }) => attempt === 1);
  }
});

interface Notice {
  event_id: string;
  inbox_id: string;
  attempt: number;
  message: { id: string; subject: string };
}

interface RecordedClaim {
  eventId: string;
  transaction: string;
}

interface RecordedClaims extends AsyncDisposable {
  /** First attempts, in the order in which they were claimed. */
  list(): Promise<RecordedClaim[]>;
}

/**
 * The numbers of claimed events, in the order of the statements that claimed them. A statement may take its rows in any order, and
 * has taken them all before the next one begins.
 */
function inClaimedOrder(claims: readonly RecordedClaim[], numberOf: ReadonlyMap<string, number>): number[] {
  const statements = [...Map.groupBy(claims, ({ transaction }) => transaction).values()];
  return statements.flatMap((rows) =>
    rows.flatMap(({ eventId }) => numberOf.get(eventId) ?? []).sort((left, right) => left - right),
  );
}

/** The number of these numbers that are smaller than the one before. */
function inversionsOf(numbers: readonly number[]): number {
  return numbers.filter((number, at) => number < (numbers[at - 1] ?? 0)).length;
}

/** Locks these inboxes one after the other, each briefly, as another process does. */
function holdingRows(url: string, inboxIds: readonly string[]): AsyncDisposable {
  const patient = { connectMs: 5_000, deadlineMs: 0, statementMs: 0, lockMs: 0, idleInTransactionMs: 0 };
  const database = connectPostgres({ url, ...patient });
  let isOver = false;
  const holding = (async () => {
    for (let round = 0; !isOver; round += 1) {
      const id = inboxIds[round % inboxIds.length];
      await database.script(
        `begin; select from inboxes where id = '${id}' for update; select pg_sleep(${0.02 * (round % 8)}); commit`,
      );
    }
  })();
  return {
    async [Symbol.asyncDispose]() {
      isOver = true;
      await holding;
      await database.close();
    },
  };
}

async function untilStreamed(stream: StreamClient, count: number): Promise<Notice[]> {
  await stream.untilTold(count);
  stream.close();
  return stream.frames.flatMap(({ event, data }) => (event === "message.received" ? [JSON.parse(data ?? "")] : []));
}

function inboxOf({ inbox_id }: Notice): string {
  return inbox_id;
}

/** Makes the database record each claim and its time. */
async function recordedClaims({ database }: Fleet): Promise<RecordedClaims> {
  await database.script(`
    create table test_claims (place bigserial primary key, event_id text not null, transaction text not null);
    create function test_claimed() returns trigger language plpgsql as $$ begin
      insert into test_claims (event_id, transaction) values (new.subject_id, pg_current_xact_id()::text);
      return null;
    end $$;
    create trigger test_claimed after update on outbox for each row
      when (new.kind = 'webhook' and new.state = 'running' and old.state = 'ready' and new.attempt = 1)
      execute function test_claimed()`);
  return {
    async list() {
      const text = 'select event_id as "eventId", transaction from test_claims order by place';
      return (await database.run(text, [])) as RecordedClaim[];
    },
    async [Symbol.asyncDispose]() {
      await database.script("drop table test_claims; drop function test_claimed() cascade");
    },
  };
}

/** The number of a mail that is named by its subject. */
function placeIn(subject: string): number {
  return Number(subject.slice("Mail ".length));
}

function noticeOf({ body }: ReceivedRequest): Notice {
  return JSON.parse(body);
}

/** The receiver fails at the first attempt of these events. */
function isHard(eventId: string): boolean {
  return eventId.charCodeAt(eventId.length - 1) % 3 === 0;
}

function failsFirstOfEveryThird(...[socket, request]: Parameters<ReturnType<typeof answer>>): void {
  const { event_id: eventId, attempt } = noticeOf(request);
  answer(isHard(eventId) && attempt === 1 ? 500 : 200)(socket, request);
}

function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}
