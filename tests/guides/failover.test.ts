import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { breaksPostgres } from "../support/engines.ts";
import { type RunningInboxd, startInboxd } from "../support/inboxd.ts";
import { hasPatroni, type PatroniCluster, startPatroni } from "../support/patroni.ts";
import { untilSo } from "../support/until.ts";
import { deliver } from "../support/world.ts";

if (!hasPatroni) console.log("Skipped: the guide to failover, since patroni, etcd or haproxy is not here");

describe.if(breaksPostgres && hasPatroni)("The guide to failover", () => {
  const directory = mkdtempSync(join(tmpdir(), "ibx-failover-"));
  let cluster: PatroniCluster;
  let inboxd: RunningInboxd;

  beforeAll(async () => {
    cluster = await startPatroni();
    const apiKey = "key-of-the-first-account-in-tests";
    const env = { DATABASE_URL: cluster.url("inboxd"), API_KEY: apiKey, DATA_DIR: join(directory, "data") };
    inboxd = await startInboxd({ env });
  }, 240_000);

  // A removal that hangs fails by itself before, and says so.
  afterAll(async () => {
    await inboxd?.stop();
    await cluster?.remove();
    rmSync(directory, { recursive: true, force: true });
  }, 120_000);

  test("loses nothing that was acknowledged, and needs no restart", async () => {
    const { address } = (await (await inboxd.request("POST", "/v1/inboxes", {})).json()) as Record<string, string>;
    const acknowledged = new Set<string>();
    let number = 0;
    async function deliverOne(): Promise<boolean> {
      const subject = `Mail ${number++}`;
      const mail = `From: jane@example.com\r\nSubject: ${subject}\r\n\r\nHello\r\n`;
      const reply = await deliver(inboxd.smtpPort, mail, address ?? "").catch(() => "");
      if (!reply.startsWith("250")) return false;
      acknowledged.add(subject);
      return true;
    }
    for (const takeOver of [cluster.switchOver, cluster.killPrimary]) {
      await cluster.untilSynchronous();
      let isOver = false;
      const takingOver = takeOver().finally(() => {
        isOver = true;
      });
      const clients = [0, 1, 2, 3].map(() => untilSo(async () => (await deliverOne()) && isOver, longestMs));
      await Promise.all([takingOver, ...clients]);
    }
    const stored = new Set((await cluster.ask("select subject from messages", "inboxd")).map(({ subject }) => subject));
    expect([...acknowledged].filter((subject) => !stored.has(subject))).toEqual([]);
  }, 480_000);
});

const longestMs = 180_000;
