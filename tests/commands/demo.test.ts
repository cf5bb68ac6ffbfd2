import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInboxd } from "../support/inboxd.ts";
import { startReceiver } from "../support/receiver.ts";
import { startWorld, type World } from "../support/world.ts";

/** Each starts a process, and one of them a server in it: beside other tests that takes its time. */
const longMs = 60_000;

interface Report {
  ok: boolean;
  totalMs: number;
  steps: { step: string; ok: boolean; ms: number; detail: string }[];
  thread: { total: number; data: { direction: string; bodyText: string }[] } | null;
}

describe("On a server of its own, the demo", () => {
  const directory = mkdtempSync(join(tmpdir(), "ibx-demo-"));
  afterAll(() => rmSync(directory, { recursive: true }));

  test(
    "goes all the way, verifies each webhook, and leaves nothing behind",
    async () => {
      // Whatever the environment says of a service, the demo's is another one.
      const service = { DATABASE_URL: "postgres://127.0.0.1:9/none", PORT: "1", OUTBOUND: "direct" };
      const client = { INBOXD_URL: "http://127.0.0.1:9", INBOXD_API_KEY: "of-another-server" };
      const env = { TMPDIR: directory, ...service, ...client };
      const { code, stdout, stderr } = await runInboxd(["demo"], { env, cwd: directory });
      expect([code, stderr]).toEqual([0, ""]);
      const steps = stdout.split("\n").filter((line) => /^[✓✗]/.test(line));
      expect(steps.map((line) => /^✓ (.*?) {2,}[\d.]+ ms {3}\S/.exec(line)?.[1])).toEqual([
        "server",
        "two inboxes",
        "webhook",
        "Ada writes by SMTP",
        "webhook received",
        "Grace replies",
        "webhook received",
        "Ada answers by the API",
        "webhook received",
        "one thread",
        "marked as read",
      ]);
      expect(stdout.match(/signature verified/g)).toHaveLength(3);
      expect(stdout).toMatch(
        /← ada@.*: Shall we.*\n.*→ grace@.*: Gladly.*\n.*← ada@.*: See you there!\n\nAll of it in /,
      );
      expect(readdirSync(directory)).toEqual([]);
    },
    longMs,
  );
});

describe("On a running server, the demo", () => {
  let world: World;
  beforeAll(async () => {
    world = await startWorld({ clock: { now: () => new Date(), set: () => undefined, pass: () => undefined } });
  });
  afterAll(() => world[Symbol.asyncDispose]());

  async function demo(words: readonly string[] = []): Promise<{ code: number; report: Report }> {
    const server = ["--url", world.service.apiUrl.origin, "--smtp", `127.0.0.1:${world.smtpPort}`];
    const { code, stdout } = await runInboxd(["demo", "--json", ...server, ...words], {
      env: { INBOXD_API_KEY: world.apiKey },
    });
    return { code, report: JSON.parse(stdout) };
  }

  /** What an account has of webhooks, with its secrets' ends. */
  async function webhooksOf() {
    return [(await world.api("/v1/webhook")).body, (await world.api("/v1/webhooks")).body];
  }

  test(
    "has a webhook of its own, leaves the account's as they were, and takes its inboxes away",
    async () => {
      const before = await webhooksOf();
      expect(before[0].url).toBeNull();
      const { code, report } = await demo();
      expect(report.steps.filter(({ ok }) => !ok)).toEqual([]);
      expect([code, report.ok, report.thread?.total]).toEqual([0, true, 3]);
      expect(report.steps.filter(({ detail }) => detail.includes("signature verified"))).toHaveLength(3);
      expect(await webhooksOf()).toEqual(before);
      expect((await world.api("/v1/inboxes")).body.total).toBe(0);
    },
    longMs,
  );

  test(
    "leaves a webhook alone that somebody uses, and reads the log where there can be no other",
    async () => {
      await using receiver = Object.assign(await startReceiver(), {
        async [Symbol.asyncDispose]() {
          await receiver.close();
        },
      });
      await world.api("/v1/webhook", { method: "PUT", body: { url: receiver.url } });
      const further = [];
      for (let answer = await another(receiver.url); answer.status === 201; answer = await another(receiver.url)) {
        further.push(answer.body.id);
      }
      const before = await webhooksOf();
      const { code, report } = await demo();
      expect([code, report.ok]).toEqual([0, true]);
      expect(report.steps.map(({ step }) => step).filter((step) => step === "event in the log")).toHaveLength(3);
      expect(withoutLast(await webhooksOf())).toEqual(withoutLast(before));
      for (const id of further) await world.api(`/v1/webhooks/${id}`, { method: "DELETE" });
    },
    longMs,
  );

  /** The webhooks without their last deliveries, which the demo's mail adds. */
  const withoutLast = (webhooks: unknown) =>
    JSON.parse(JSON.stringify(webhooks, (name, value) => (name === "lastDelivery" ? null : value)));

  const another = (url: string) => world.api("/v1/webhooks", { method: "POST", body: { url } });

  test(
    "says at which step it failed, and ends with code 1",
    async () => {
      const { code, report } = await demo(["--smtp", "127.0.0.1:9"]);
      expect([code, report.ok, report.thread]).toEqual([1, false, null]);
      expect(report.steps.at(-1)).toMatchObject({ step: "Ada writes by SMTP", ok: false });
      expect(report.steps.at(-1)?.detail).toStartWith("Cannot send mail to 127.0.0.1:9: ");
      expect((await webhooksOf())[1].data.filter(({ isDefault }: { isDefault: boolean }) => !isDefault)).toEqual([]);
      expect((await world.api("/v1/inboxes")).body.total).toBe(0);
    },
    longMs,
  );
});
