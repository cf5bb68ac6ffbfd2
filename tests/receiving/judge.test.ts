import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { enginesHere } from "../support/engines.ts";
import { startJudge, type TestJudge } from "../support/judge.ts";
import { readMetrics } from "../support/metrics.ts";
import { addRule, setPolicy } from "../support/ruled.ts";
import { send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import type { World } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const mail = (subject: string) => `From: jane@example.com\r\nSubject: ${subject}\r\n\r\nHello\r\n`;
const ham = { action: "no action", score: 1.5, required_score: 15 };

describe.each(enginesHere())("A judge of the operator's (%s):", (engine) => {
  const startWorld = worldsOn(engine);
  let judge: TestJudge;
  beforeAll(async () => {
    judge = await startJudge();
  });
  afterAll(async () => {
    await judge[Symbol.asyncDispose]();
  });

  const begin = (env: Record<string, string> = {}) =>
    startWorld({ env: { JUDGE_URL: judge.url.href, METRICS_PORT: "0", JUDGE_TIMEOUT_MS: "30000", ...env } });

  test("its score is in the message and, if included, in the event", async () => {
    await using world = await begin();
    const inbox = await world.inbox();
    judge.answers(({ body }) => (body.includes("Scored") ? { action: "take", score: 2.5 } : { action: "take" }));
    for (const subject of ["Plain", "Scored"]) {
      expect(await world.deliver(mail(subject), inbox.address, "jane@example.com")).toStartWith("250");
    }
    const [scored, plain] = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
    expect([scored.spam, plain.spam]).toEqual([{ score: 2.5, required: null, isSpam: false }, null]);
    expect(Object.keys(scored.spam)).toEqual(["score", "required", "isSpam"]);
    const { body: log } = await world.api("/v1/events?include=spam&types=message.received");
    expect(log.data.map(({ message }: { message: { spam: object } }) => message.spam)).toEqual([
      null,
      { score: 2.5, required: null, is_spam: false },
    ]);
    const [question] = judge.questions.slice(-2);
    expect(question?.headers.get("envelope-from")).toBe("jane@example.com");
    expect(question?.headers.get("envelope-to")).toBe(inbox.address);
    expect(question?.headers.get("client-address")).toBe("127.0.0.1");
    expect(question?.body.toString()).toBe(mail("Plain"));
    expect((await readMetrics(world)).get('inboxd_judge_opinions_total{outcome="take"}')).toBe(2);
  });

  test("rspamd calls a mail spam, which is taken unless a policy says otherwise", async () => {
    await using world = await begin({ JUDGE_URL: `rspamd+${judge.url.origin}` });
    const inbox = await world.inbox();
    judge.answers(() => ({ ...ham, action: "add header", score: 17 }));
    expect(await world.deliver(mail("Win"), inbox.address)).toStartWith("250");
    const [message] = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
    expect(message.spam).toEqual({ score: 17, required: 15, isSpam: true });
    expect(judge.questions.at(-1)?.path).toBe("/checkv2");
    expect((await readMetrics(world)).get('inboxd_judge_opinions_total{outcome="spam"}')).toBe(1);
  });

  test("spam is quarantined where a policy blocks it", async () => {
    await using world = await begin({ JUDGE_URL: `rspamd+${judge.url.origin}` });
    const [strict, lax] = [await world.inbox(), await world.inbox()];
    const { db } = world.service.deps;
    await setPolicy(db.api, { accountId: await accountOf(world), inboxId: strict.id, spam: "block" });
    judge.answers(() => ({ ...ham, action: "reject", score: 30 }));
    expect(await world.deliver(mail("Win"), [strict.address, lax.address])).toStartWith("250");
    expect(await quarantined(world)).toMatchObject([
      { inboxId: strict.id, reason: "spam", spam: { score: 30, required: 15, isSpam: true } },
    ]);
    expect(await subjects(world, lax.id)).toEqual(["Win"]);
  });

  test("it quarantines and refuses mail, whatever the rules of the account say", async () => {
    await using world = await begin();
    const inbox = await world.inbox();
    const allow = { action: "allow", pattern: "jane@example.com", evenUnauthenticated: true } as const;
    await addRule(world.service.deps.db.api, { accountId: await accountOf(world), ...allow });
    judge.answers(({ body }) =>
      body.includes("Virus") ? { action: "refuse", reason: "a virus" } : { action: "quarantine", score: 7 },
    );
    expect(await world.deliver(mail("Virus"), inbox.address)).toStartWith("550 5.7.1");
    expect(await world.deliver(mail("Doubtful"), inbox.address)).toStartWith("250");
    const [kept, ...others] = await quarantined(world);
    expect([kept, others]).toMatchObject([
      { subject: "Doubtful", reason: "judge", ruleId: null, spam: { score: 7, required: null, isSpam: true } },
      [],
    ]);
    expect(await subjects(world, inbox.id)).toEqual([]);
    expect(world.log.filter(({ msg }) => msg === "mail judged")).toMatchObject([
      { action: "refuse", reason: "a virus" },
      { action: "quarantine" },
    ]);
    const asked = judge.questions.length;
    expect((await world.api(`/v1/quarantine/${kept.id}/release`, { method: "POST" })).status).toBe(200);
    expect(await subjects(world, inbox.id)).toEqual(["Doubtful"]);
    const [released] = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data;
    expect(released.spam).toEqual({ score: 7, required: null, isSpam: true });
    expect(judge.questions).toHaveLength(asked);
  });

  test("without an opinion it quarantines, if the operator chose that", async () => {
    await using world = await begin({ JUDGE_FAILS: "quarantine" });
    const inbox = await world.inbox();
    judge.answers(({ body }) => (body.includes("One") ? { action: "take" } : new Response("busy", { status: 503 })));
    // By then it is remembered that the account has no rules.
    for (const subject of ["One", "Two"]) expect(await world.deliver(mail(subject), inbox.address)).toStartWith("250");
    expect(await subjects(world, inbox.id)).toEqual(["One"]);
    expect(await quarantined(world)).toMatchObject([{ subject: "Two", reason: "judge", spam: null }]);
  });

  test("mail is taken without an opinion, which is logged when it begins and when it ends", async () => {
    await using world = await begin({ JUDGE_TIMEOUT_MS: "100" });
    const inbox = await world.inbox();
    judge.answers(() => undefined);
    for (const subject of ["One", "Two"]) expect(await world.deliver(mail(subject), inbox.address)).toStartWith("250");
    judge.answers(() => new Response("busy", { status: 503 }));
    expect(await world.deliver(mail("Three"), inbox.address)).toStartWith("250");
    const ofJudge = () => world.log.filter(({ msg }) => String(msg).startsWith("the judge"));
    expect(ofJudge()).toMatchObject([{ level: 40, fault: expect.stringContaining("timed out") }]);
    expect((await readMetrics(world)).get('inboxd_judge_opinions_total{outcome="no_opinion"}')).toBe(3);
    const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
    expect(body.data.map(({ spam }: { spam: object | null }) => spam)).toEqual([null, null, null]);
  });

  test("mail of more than 5 MiB is not sent to it", async () => {
    await using world = await begin();
    const inbox = await world.inbox();
    judge.answers(() => ({ action: "take", score: 1 }));
    const before = judge.questions.length;
    const large = (bytes: number) => {
      const head = "Subject: Large\r\n\r\n";
      const line = `${"a".repeat(98)}\r\n`;
      const body = line.repeat(Math.floor((bytes - head.length) / line.length));
      return `${head}${body}${"b".repeat(bytes - head.length - body.length - 2)}\r\n`;
    };
    const most = 5 << 20;
    expect(await world.deliver(large(most), inbox.address)).toStartWith("250");
    expect(await world.deliver(large(most + 1), inbox.address)).toStartWith("250");
    expect(judge.questions.slice(before).map(({ body }) => body.length)).toEqual([most]);
    expect((await readMetrics(world)).get('inboxd_judge_opinions_total{outcome="too_large"}')).toBe(1);
  });

  test("mail of our own inboxes is judged, and a report is not", async () => {
    await using world = await begin();
    const [ada, bob] = [await world.inbox(), await world.inbox()];
    judge.answers(() => ({ action: "take", score: 1 }));
    const before = judge.questions.length;
    const { body } = await send(world, ada.id, { to: bob.address }, { waits: true });
    expect(body.status).toBe("sent");
    const [question] = judge.questions.slice(before);
    expect(JSON.parse(question?.headers.get("authentication") ?? "")).toMatchObject({
      verdict: "pass",
      internal: true,
    });
    expect(question?.headers.has("client-address")).toBe(false);
    await send(world, ada.id, { to: "bounce@sim.invalid" }, { waits: true });
    await untilAnswered(async () => (await world.api("/v1/events?types=message.bounced")).body.data[0]);
    expect(judge.questions.slice(before)).toHaveLength(1);
  });
});

async function accountOf(world: World): Promise<string> {
  return (await world.api("/v1/account")).body.id;
}

async function quarantined(world: World) {
  return (await world.api("/v1/quarantine")).body.data;
}

async function subjects(world: World, inboxId: string): Promise<string[]> {
  const { body } = await world.api(`/v1/inboxes/${inboxId}/messages`);
  return body.data.map(({ subject }: { subject: string }) => subject);
}
