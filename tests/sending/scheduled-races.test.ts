import { describe, expect, test } from "bun:test";
import { accountRules } from "../../src/flows/account-rules.ts";
import { dispatchDrafts } from "../../src/flows/send/dispatch-drafts.ts";
import { emailSender } from "../../src/flows/send/send-email.ts";
import { enginesHere } from "../support/engines.ts";
import { hasPostgres } from "../support/postgres.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { Answer, World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const races = Number(process.env.DRAFT_RACES ?? 1000);
const inboxes = 20;
const unlimited = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", LOOP_ECHOES: "0" };

const relayOf = (relay: ScriptedSmtp) => ({ ...unlimited, OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` });
const inMs = (world: World, ms: number) => new Date(world.clock.now().getTime() + ms).toISOString();
const shown = async (world: World, id: string) => (await world.api(`/v1/messages/${id}`)).body;
/** The id in the Message-ID of each mail that the relay took. */
const takenBy = ({ mails }: ScriptedSmtp) =>
  mails.map(({ raw }) => /^Message-ID: <(msg_[^@]+)@/m.exec(raw.toString("latin1"))?.[1] ?? "");

async function scheduled(world: World, count: number, ms: number): Promise<string[]> {
  const ids = await Promise.all(Array.from({ length: inboxes }, () => newInbox(world)));
  const sendAt = inMs(world, ms);
  const answers: Answer[] = [];
  for (let number = 0; number < count; number += 50) {
    const batch = Array.from({ length: Math.min(50, count - number) }, (_, index) =>
      send(world, ids[(number + index) % inboxes] ?? "", { sendAt, subject: `${number + index}` }),
    );
    answers.push(...(await Promise.all(batch)));
  }
  return answers.map(({ body }) => body.messageId);
}

describe.each(enginesHere())("Scheduled mail (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("is canceled or sent, never both, when a cancellation meets its dispatch and its claim", async () => {
    const relay = await scriptedSmtp();
    await using world = await startWorld({ env: relayOf(relay) });
    const ids = await scheduled(world, races, 60_000);
    world.clock.pass(60_000);
    const outcomes = new Map<string, string>();
    let next = 0;
    await Promise.all(
      Array.from({ length: 8 }, async () => {
        for (let id = ids[next++]; id !== undefined; id = ids[next++]) {
          const answer = await world.api(`/v1/messages/${id}/cancel`, { method: "POST" });
          outcomes.set(id, answer.status === 200 ? "canceled" : answer.body.code);
        }
      }),
    );
    const states = new Map<string, string>();
    await untilSo(async () => {
      for (const id of ids) {
        if (["sent", "failed"].includes(states.get(id) ?? "")) continue;
        const { status, state } = await shown(world, id);
        states.set(id, state === null ? status : "scheduled");
      }
      return ids.every((id) => ["sent", "failed"].includes(states.get(id) ?? ""));
    });
    const taken = takenBy(relay);
    expect(new Set(taken).size).toBe(taken.length);
    const wrong = ids.filter((id) => {
      const isCanceled = outcomes.get(id) === "canceled";
      return isCanceled === taken.includes(id) || (states.get(id) === "failed") !== isCanceled;
    });
    expect(wrong).toEqual([]);
    await relay.close();
  }, 180_000);

  test("is not sent if it is canceled between the reading and the writing of its dispatch", async () => {
    await using world = await startWorld({ env: unlimited });
    const inbox = await newInbox(world);
    const id = (await send(world, inbox, { sendAt: inMs(world, 60_000) })).body.messageId;
    // A process whose clock is an hour ahead, so that the service itself does not dispatch the mail.
    const deps = { ...world.service.deps, now: () => new Date(world.clock.now().getTime() + 3_600_000) };
    let answer: Answer | undefined;
    const sendEmail = emailSender(
      {
        ...deps,
        rules: accountRules(deps),
        // It is called when the facts are read.
        async addUnsubscribeFields(_, sends) {
          answer ??= await world.api(`/v1/messages/${id}/cancel`, { method: "POST" });
          return [...sends];
        },
      },
      async () => undefined,
    );
    await dispatchDrafts({ ...deps, sendEmail });
    expect(answer?.status).toBe(200);
    expect(await shown(world, id)).toMatchObject({ status: "failed", failure: { reason: "canceled" } });
    expect((await world.api(`/v1/inboxes/${inbox}/messages`)).body.total).toBe(0);
  });

  test("goes out once and in order after the clock was set back", async () => {
    const relay = await scriptedSmtp();
    await using world = await startWorld({ env: relayOf(relay) });
    const inbox = await newInbox(world);
    const first = (await send(world, inbox, { sendAt: inMs(world, 60_000) })).body.messageId;
    world.clock.pass(60_000);
    await untilSo(async () => (await shown(world, first)).status === "sent");
    world.clock.pass(-3_600_000);
    const second = (await send(world, inbox, { sendAt: inMs(world, 60_000) })).body.messageId;
    expect((await shown(world, second)).state).toBe("scheduled");
    world.clock.pass(60_000);
    await untilSo(async () => (await shown(world, second)).status === "sent");
    world.clock.pass(3_600_000);
    expect(takenBy(relay)).toEqual([first, second]);
    await relay.close();
  }, 60_000);

  test("with unlessReplied is before the reply in its thread, or is not sent", async () => {
    const relay = await scriptedSmtp();
    await using world = await startWorld({ env: relayOf(relay) });
    const all: { id: string; thread: string }[] = [];
    const replies: (() => Promise<string>)[] = [];
    for (let number = 0; number < 20; number += 1) {
      const inbox = await world.inbox(`race-${number}`);
      const mail = (head: string) =>
        `From: jane@example.com\r\nTo: ${inbox.address}\r\n${head}\r\nSubject: Q\r\n\r\nWhen?\r\n`;
      await world.deliver(mail(`Message-ID: <${number}@race>`), inbox.address);
      const thread = (await world.api(`/v1/inboxes/${inbox.id}/threads`)).body.data[0].threadId;
      const reply = { threadId: thread, to: undefined, subject: undefined, unlessReplied: true };
      const answer = await send(world, inbox.id, { ...reply, sendAt: inMs(world, 60_000) });
      all.push({ id: answer.body.messageId, thread });
      replies.push(() => world.deliver(mail(`In-Reply-To: <${number}@race>`), inbox.address));
    }
    world.clock.pass(60_000);
    await Promise.all(replies.map((reply) => reply()));
    for (const { id, thread } of all) {
      await untilSo(async () => (await shown(world, id)).state === null);
      const { body } = await world.api(`/v1/threads/${thread}/messages`);
      const ways = body.data.map(({ direction }: { direction: string }) => direction);
      const isSent = (await shown(world, id)).failure?.reason !== "replied";
      expect(ways).toEqual(isSent ? ["inbound", "outbound", "inbound"] : ["inbound", "inbound"]);
    }
    await relay.close();
  }, 120_000);
});

describe.skipIf(!hasPostgres || process.env.TEST_DATABASE_URL === undefined)("Two processes", () => {
  const startWorld = worldsOn("postgres");

  test("answer a draft that both send with one key with the same message", async () => {
    await using world = await startWorld({ env: unlimited });
    await using other = await world.another();
    const inbox = await newInbox(world);
    const post = ({ api }: World, path: string, key: string, body: object = {}) =>
      api(path, { method: "POST", body, headers: { "idempotency-key": key, prefer: "respond-async" } });
    const mail = { to: "jane@example.com", subject: "Hello", body: "Hello Jane" };
    for (let number = 0; number < races / 5; number += 1) {
      const { id } = (await post(world, `/v1/inboxes/${inbox}/drafts`, `draft-${number}`, mail)).body;
      const answers = await Promise.all(
        [world, other].map((each) => post(each, `/v1/drafts/${id}/send`, `send-${number}`)),
      );
      expect(answers.map(({ status, body }) => [status, body.messageId])).toEqual([
        [200, id],
        [200, id],
      ]);
    }
  }, 120_000);

  test("dispatch a thousand due mails, each once and in the order of its inbox, also if one of them stops", async () => {
    const relay = await scriptedSmtp();
    await using world = await startWorld({ env: relayOf(relay) });
    const ids = await scheduled(world, 1000, 60_000);
    const other = await world.another();
    world.clock.pass(60_000);
    await untilSo(() => relay.mails.length > 50);
    await other[Symbol.asyncDispose]();
    await untilSo(() => new Set(takenBy(relay)).size === ids.length);
    expect(relay.mails).toHaveLength(ids.length);
    const { body } = await world.api("/v1/messages?limit=100");
    const byInbox = Map.groupBy<string, { id: string; inboxId: string }>(body.data, ({ inboxId }) => inboxId);
    for (const messages of byInbox.values()) {
      const numbers = messages.map(({ id }) => ids.indexOf(id));
      expect(numbers).toEqual(numbers.toSorted((one, another) => another - one));
    }
  }, 180_000);
});
