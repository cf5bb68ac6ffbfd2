import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { webhookFault } from "../../src/standards/signature.ts";
import { webhookClient } from "../../src/webhook/client.ts";
import { type AskJudge, type JudgeQuestion, judgeAsker } from "../../src/webhook/judge.ts";
import { startJudge, type TestJudge } from "../support/judge.ts";
import { untilSo } from "../support/until.ts";

const secret = "a secret of the judge, long enough".replaceAll(" ", "-");
const at = new Date("2026-03-21T10:05:00.000Z");
const now = () => at;
const raw = Buffer.from("From: jane@example.com\r\nSubject: caf\xe9\r\n\r\n\0\xff\r\n", "latin1");
const mail: JudgeQuestion = {
  id: "src_1",
  at,
  raw,
  envelopeFrom: "jane@example.com",
  recipients: ["ada@inbox.localhost", '"a, b"@inbox.localhost'],
  clientAddress: "192.0.2.1",
  heloName: "mx.example.com",
  authentication: undefined,
};

let judge: TestJudge;
const client = webhookClient({ allowPrivate: true, version: "test", timeoutMs: 60_000 });
beforeAll(async () => {
  judge = await startJudge();
});
afterAll(async () => {
  client.close();
  await judge[Symbol.asyncDispose]();
});

const own = (path = "/judge") =>
  judgeAsker({ kind: "own", url: new URL(path, judge.url).href }, { client, secret, now });
const rspamd = () =>
  judgeAsker({ kind: "rspamd", url: new URL("/checkv2", judge.url).href }, { client, secret: undefined, now });
const answered = (ask: AskJudge, answer: object | Response) => {
  judge.answers(() => answer);
  return ask(mail);
};

describe("a judge of the operator's", () => {
  test("gets the mail as it came, with its envelope, signed as webhooks are", async () => {
    judge.answers(() => ({ action: "take" }));
    const authentication = { verdict: "pass", domain: "exämple" } as never;
    await own()({ ...mail, authentication, envelopeFrom: "jäne@example.com", heloName: "a\r\nb: c" });
    const { path, headers, body } = judge.questions.at(-1) ?? { headers: new Headers(), body: Buffer.of() };
    expect(path).toBe("/judge");
    expect(body.equals(raw)).toBe(true);
    expect(Object.fromEntries(headers)).toMatchObject({
      "content-type": "message/rfc822",
      "envelope-from": "j%C3%A4ne@example.com",
      "envelope-to": 'ada@inbox.localhost, "a%2C b"@inbox.localhost',
      "client-address": "192.0.2.1",
      "client-helo": "a%0D%0Ab: c",
    });
    expect(JSON.parse(headers.get("authentication") ?? "")).toEqual(authentication);
    // Mail has bytes that are no text, so the signature is checked over the bytes.
    const { createHmac } = await import("node:crypto");
    const seconds = Math.floor(at.getTime() / 1000);
    const signed = Buffer.concat([Buffer.from(`${seconds}.`), raw]);
    expect(headers.get("x-signature")).toBe(createHmac("sha256", secret).update(signed).digest("hex"));
    const plain = Buffer.from("Subject: Hi\r\n\r\nHello\r\n");
    await own()({ ...mail, raw: plain });
    const received = Object.fromEntries(judge.questions.at(-1)?.headers ?? []);
    expect(await webhookFault({ headers: received, body: plain.toString(), secret, now: at })).toBeUndefined();
  });

  test("gets as many recipients as fit a header", async () => {
    judge.answers(() => ({ action: "take" }));
    const recipients = Array.from({ length: 1_000 }, (_, number) => `inbox-${number}@inbox.localhost`);
    expect(await own()({ ...mail, recipients })).toEqual({ action: "take", reason: undefined, spam: undefined });
    const named = judge.questions.at(-1)?.headers.get("envelope-to")?.split(", ") ?? [];
    expect(named).toEqual(recipients.slice(0, named.length));
    expect(named.length).toBeGreaterThan(200);
  });

  test.each([
    [{ action: "take" }, { action: "take", reason: undefined, spam: undefined }],
    [
      { action: "take", score: -1.5 },
      { action: "take", reason: undefined, spam: { score: -1.5, required: null, isSpam: false } },
    ],
    [
      { action: "quarantine", score: 9, reason: "a\r\nvirus" },
      { action: "quarantine", reason: "a virus", spam: { score: 9, required: null, isSpam: true } },
    ],
    [
      { action: "refuse", score: null, more: [] },
      { action: "refuse", reason: undefined, spam: undefined },
    ],
  ] as const)("%p", async (answer, opinion) => {
    expect(await answered(own(), answer)).toEqual(opinion as never);
  });

  test.each([
    [{ action: "drop" }, "its answer is not of the right form"],
    [{ action: "take", score: "9" }, "its answer is not of the right form"],
    [[], "its answer is not of the right form"],
    [new Response("not JSON"), "its answer is not of the right form"],
    [new Response("null"), "its answer is not of the right form"],
    [new Response('{"action": "take"}', { status: 500 }), "it answered 500"],
    [new Response(null, { status: 302, headers: { location: "http://elsewhere.example/" } }), "it answered 302"],
  ] as const)("that answers otherwise has no opinion: %p", async (answer, fault) => {
    expect(await answered(own(), answer)).toBe(fault);
  });

  test("that is away, or takes too long, has no opinion", async () => {
    const hasty = webhookClient({ allowPrivate: true, version: "test", timeoutMs: 100 });
    judge.answers(() => undefined);
    const late = await judgeAsker(
      { kind: "own", url: judge.url.href },
      { client: hasty, secret: undefined, now },
    )(mail);
    expect(late).toContain("timed out");
    const away = await judgeAsker({ kind: "own", url: "http://127.0.0.1:1" }, { client, secret: undefined, now })(mail);
    expect(away).toBe("the URL must not have port 1, which belongs to another protocol");
    hasty.close();
  });
});

describe.each(["own", "rspamd"] as const)("a judge that hangs (%s)", (kind) => {
  const opinion = kind === "own" ? { action: "take" } : { score: 1, action: "no action" };
  const five = ["a", "b", "c", "d", "e"];
  /** Asks about a mail with this text. */
  function begin() {
    let nowMs = at.getTime();
    const hasty = webhookClient({ allowPrivate: true, version: "test", timeoutMs: 1_000 });
    const asker = judgeAsker({ kind, url: judge.url.href }, { client: hasty, secret, now: () => new Date(nowMs) });
    const start = judge.questions.length;
    return {
      ask: (text: string) => asker({ ...mail, raw: Buffer.from(text) }),
      pass: (ms: number) => {
        nowMs += ms;
      },
      asked: () => judge.questions.slice(start).map(({ body }) => body.toString()),
      [Symbol.dispose]: hasty.close,
    };
  }
  const probe = "Subject: Does the judge answer?\r\n\r\n";
  const silent = "it has left the last questions unanswered";

  test("keeps no mail waiting after five and our own, and is asked about our own again after each five seconds", async () => {
    using judging = begin();
    judge.answers(() => undefined);
    for (const fault of await Promise.all(five.map(judging.ask))) expect(fault).toContain("timed out");
    await untilSo(async () => (await judging.ask("more")) === silent);
    const before = judging.asked().length;
    expect(judging.asked()).toContain(probe);
    judging.pass(4_999);
    expect(await judging.ask("f")).toBe(silent);
    judging.pass(1);
    expect(await Promise.all(["g", "h"].map(judging.ask))).toEqual([silent, silent]);
    expect(judging.asked().slice(before)).toEqual([probe]);
    judge.answers(() => opinion);
    await untilSo(async () => {
      judging.pass(5_000);
      return typeof (await judging.ask("i")) === "object";
    });
    expect(judging.asked().slice(before)).toEqual([probe, probe, "i"]);
  });

  test("only at mails of one sender is asked about all others", async () => {
    using judging = begin();
    judge.answers(({ body }) => (five.includes(body.toString()) ? undefined : opinion));
    await Promise.all(five.map(judging.ask));
    await untilSo(() => judging.asked().includes(probe));
    expect(await judging.ask("f")).toMatchObject({ action: "take" });
    expect(await judging.ask("a")).toContain("timed out");
  });
});

/** The answers have the form of rspamd's documentation (rspamd.com/doc/developers/protocol.html); no rspamd runs here. */
describe("rspamd", () => {
  const answer = {
    is_skipped: false,
    score: 5.2,
    required_score: 7,
    action: "no action",
    symbols: { DATE_IN_PAST: { name: "DATE_IN_PAST", score: 0.1, options: ["1 hour"] } },
    messages: {},
    "message-id": "4E699308EFABE14EB3F18A1BB025456988527794@example",
  };

  test("gets the mail and its envelope by its own protocol, unsigned", async () => {
    await answered(rspamd(), answer);
    const { path, headers, body } = judge.questions.at(-1) ?? { headers: new Headers(), body: Buffer.of() };
    expect(path).toBe("/checkv2");
    expect(body.equals(raw)).toBe(true);
    expect(Object.fromEntries(headers)).toMatchObject({
      ip: "192.0.2.1",
      helo: "mx.example.com",
      from: "jane@example.com",
      rcpt: 'ada@inbox.localhost, "a, b"@inbox.localhost',
      "queue-id": "src_1",
    });
    expect(headers.has("x-signature")).toBe(false);
  });

  test.each([
    ["no action", false],
    ["greylist", false],
    ["soft reject", false],
    ["add header", true],
    ["rewrite subject", true],
    ["reject", true],
  ])("%s: is the mail spam? %p", async (action, isSpam) => {
    expect(await answered(rspamd(), { ...answer, action })).toEqual({
      action: "take",
      spam: { score: 5.2, required: 7, isSpam },
    });
  });

  test.each([[{ error: "cannot scan" }], [{ ...answer, score: "5.2" }], [{ ...answer, action: undefined }]])(
    "%p is no opinion",
    async (said) => {
      expect(await answered(rspamd(), said)).toBe("its answer is not of the right form");
    },
  );

  test("reads an answer with thousands of symbols", async () => {
    const symbols = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`SYMBOL_${at}`, { score: 0.1 }]));
    expect(await answered(rspamd(), { ...answer, symbols })).toMatchObject({ spam: { score: 5.2 } });
  });
});
