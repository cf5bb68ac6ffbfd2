import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { dnsClient } from "../../src/dns/client.ts";
import { directRelay } from "../../src/relay/direct.ts";
import { mailResolver } from "../../src/service/sending.ts";
import type { WorkerDeps } from "../../src/workers/scheduler.ts";
import { enginesHere } from "../support/engines.ts";
import { fairly } from "../support/fair-time.ts";
import { outboxWorld } from "../support/outbox-world.ts";
import { type DnsReply, scriptedDns } from "../support/scripted-dns.ts";
import { type Script, type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { setUpEngine } from "../support/set-up-engine.ts";
import { until, untilAnswered } from "../support/until.ts";

/** Each tarpit has its own address in 127.0.0.0/8, those on the same host share one, and all other names lead to ::1. */
function recordsOf(name: string, type: string): DnsReply {
  if (name.startsWith("same-host"))
    return type === "A" ? { answers: [{ name, type, ttl: 60, data: "127.3.0.1" }] } : {};
  const [, number] = /^tarpit-(\d+)\.example$/.exec(name) ?? [];
  if (number !== undefined && type === "A")
    return { answers: [{ name, type, ttl: 60, data: addressOf(Number(number)) }] };
  if (number === undefined && type === "AAAA") return { answers: [{ name, type, ttl: 60, data: "::1" }] };
  return {};
}
const addressOf = (number: number) => `127.2.${Math.floor(number / 250)}.${1 + (number % 250)}`;

describe.each(enginesHere())("mail to tarpits, sent directly (%s):", (engine) => {
  const under = setUpEngine(engine);
  const open: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const thing of open.splice(0).reverse()) await thing.close();
    await query(under.db.api, sql`truncate outbox`);
  });

  async function begin(script: Script = { greeting: "silence" }, own: Partial<WorkerDeps> = {}) {
    const nameServer = await scriptedDns(({ name, type }) => recordsOf(name, type));
    const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));
    const dns = dnsClient({ now: () => new Date(), randomBytes, servers: [nameServer] });
    const tarpit = await scriptedSmtp(script, "0.0.0.0");
    const good = await scriptedSmtp({}, "::1", tarpit.port);
    const resolver = mailResolver(dns);
    const relay = directRelay({
      hostname: "inbox.test",
      resolver,
      random: () => 0,
      port: tarpit.port,
      allowPrivate: true,
      // No attempt ends by itself while a test runs, so mail that arrives has not waited for the slot of one.
      timings: { greetingMs: 600_000, dataMs: 600_000 },
    });
    const world = await outboxWorld(under.db, { deps: { relay, ...own } });
    open.push(nameServer, tarpit, good, relay, dns, { close: () => world.stop(0) });
    const [ours, theirs] = [await world.newInbox(), await world.newInbox()];
    return { tarpit, good, world, ours, theirs };
  }

  const arrived = (server: ScriptedSmtp, count: number) => until(() => server.mails.length >= count);

  test("100 tarpits of one account do not delay mail of another", async () => {
    // The clock of the attempts stands still, so none turns slow and moves to another pool of slots.
    const { tarpit, good, world, ours, theirs } = await begin({ greeting: "silence" }, { attemptsNowMs: () => 0 });
    for (let index = 0; index < 100; index += 1) await world.send(ours, `jane@tarpit-${index}.example`);
    await world.start();
    await until(() => tarpit.open() === 50);
    const { fairMs } = await fairly(async () => {
      await world.send(theirs, "joe@good.example");
      await arrived(good, 1);
    });
    expect(fairMs).toBeLessThan(1_500);
    expect(tarpit.connections()).toBe(50);
  });

  test.each([2, 5])("350 mails of %d accounts do not delay mail of another", async (attackers) => {
    const { tarpit, good, world, theirs } = await begin({
      answer: (line) => (line === "." ? "silence" : undefined),
    });
    const inboxes = await Promise.all(Array.from({ length: attackers }, () => world.newInbox()));
    const mails = Array.from({ length: 350 }, (_, number) => number);
    await Promise.all(
      inboxes.map(async (inbox, place) => {
        for (const number of mails)
          if (number % attackers === place) await world.send(inbox, `jane@tarpit-${number}.example`);
      }),
    );
    await world.start();
    // The attackers have all the slots that two accounts can have: the common ones of both pools.
    await until(() => tarpit.mails.length >= 200);

    const waitsMs: number[] = [];
    for (let count = 1; count <= 40; count += 1) {
      const { fairMs } = await fairly(async () => {
        await world.send(theirs, `joe-${count}@good-${count}.example`);
        await arrived(good, count);
      });
      waitsMs.push(fairMs);
    }
    expect(Math.max(...waitsMs)).toBeLessThan(3_000);
    expect(tarpit.open()).toBeGreaterThanOrEqual(200);
  });

  test("200 domains on one host get few connections, and waiting for it does not count as an attempt", async () => {
    let isSilent = true;
    const { tarpit, good, world, ours, theirs } = await begin({
      answer: (line) => (line === "." && isSilent ? "silence" : undefined),
    });
    for (let index = 0; index < 200; index += 1) await world.send(ours, `jane@same-host-${index}.example`);
    await world.start();
    const waiting = async () => {
      const rows = await query<{ state: string; attempt: number; count: number }>(
        under.db.api,
        sql`select state, attempt, count(*)::int as count from outbox group by state, attempt order by state, attempt`,
      );
      return rows.map(({ state, attempt, count }) => `${count} ${state} after ${attempt}`);
    };
    const isSettled = async () => (await waiting()).join() === "16 running after 1,184 waiting after 0";
    await untilAnswered(async () => (await isSettled()) || undefined);
    expect(tarpit.connections()).toBe(16);

    // Mail that is due again is checked and waits on; mail of another account gets a slot and a connection.
    world.clock.pass(60_000);
    const { fairMs } = await fairly(async () => {
      await world.send(theirs, "joe@good.example");
      await world.send(theirs, "joe@same-host-7.example");
      await arrived(good, 1);
      await arrived(tarpit, 17);
    });
    expect(fairMs).toBeLessThan(3_000);
    expect(tarpit.open()).toBe(17);

    isSilent = false;
    tarpit.cut();
    await untilAnswered(async () => {
      world.clock.pass(10_000);
      return (await waiting()).length === 0 || undefined;
    });
    expect(new Set(tarpit.mails.map(({ to }) => to)).size).toBe(201);
  });

  test("tarpits delay other mail of the same account only for a moment", async () => {
    const { tarpit, good, world, ours } = await begin();
    for (let index = 0; index < 60; index += 1) await world.send(ours, `jane@tarpit-${index}.example`);
    await world.send(ours, "joe@good.example");
    await world.start();
    await arrived(good, 1);
    await tarpit.openIs(60);
  });
});
