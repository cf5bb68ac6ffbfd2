import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { directRelay } from "../../src/relay/direct.ts";
import type { MailResolver } from "../../src/relay/mx.ts";
import { migrate } from "../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../support/engines.ts";
import { outboxWorld } from "../support/outbox-world.ts";
import { type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { until } from "../support/until.ts";
import { watchesClock } from "../support/watches-clock.ts";

/** What is for a tarpit leads to 127.0.0.2, which greets nobody, and all else to 127.0.0.3. */
const resolver: MailResolver = {
  resolveMx: async () => [],
  resolve4: async (name) => [name.startsWith("tarpit") ? "127.0.0.2" : "127.0.0.3"],
  resolve6: async () => [],
};

describe.each(enginesHere())("straight to mail servers that hold everybody up (%s)", (engine) => {
  let under: EngineUnderTest;
  const open: { close(): Promise<unknown> }[] = [];
  beforeAll(async () => {
    under = await openEngine(engine);
    await migrate(under.db);
  });
  afterAll(() => under.remove());
  afterEach(async () => {
    for (const thing of open.splice(0).reverse()) await thing.close();
    await query(under.db.api, sql`truncate outbox`);
  });

  async function begin() {
    const tarpit = await scriptedSmtp({ greeting: "silence" }, "127.0.0.2");
    const good = await scriptedSmtp({}, "127.0.0.3", tarpit.port);
    const relay = directRelay({
      ...{ hostname: "inbox.test", resolver, random: () => 0, port: tarpit.port, allowPrivate: true },
    });
    const world = await outboxWorld(under.db, { deps: { relay } });
    open.push(tarpit, good, relay, { close: () => world.stop(0) });
    const [ours, theirs] = [await world.newInbox(), await world.newInbox()];
    return { tarpit, good, world, ours, theirs };
  }

  const arrived = (server: ScriptedSmtp, count: number) => until(() => server.mails.length >= count);

  test("a hundred tarpits of one account hold up no mail of another", {
    ...watchesClock,
    timeout: 30_000,
  }, async () => {
    const { tarpit, good, world, ours, theirs } = await begin();
    for (let index = 0; index < 100; index += 1) await world.send(ours, `jane@tarpit-${index}.example`);
    await world.start();
    await until(() => tarpit.open() === 50);
    const startMs = performance.now();
    await world.send(theirs, "joe@good.example");
    await arrived(good, 1);
    // Sooner than a place comes free by itself.
    expect(performance.now() - startMs).toBeLessThan(1_500);
    expect(tarpit.connections()).toBe(50);
  });

  test("nor for longer than a moment of that account itself", async () => {
    const { tarpit, good, world, ours } = await begin();
    for (let index = 0; index < 60; index += 1) await world.send(ours, `jane@tarpit-${index}.example`);
    await world.send(ours, "joe@good.example");
    await world.start();
    await arrived(good, 1);
    await tarpit.openIs(60);
  }, 30_000);
});
