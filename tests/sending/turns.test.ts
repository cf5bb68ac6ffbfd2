import { afterEach, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { smtpRelay } from "../../src/relay/relay.ts";
import { enginesHere } from "../support/engines.ts";
import { fairly } from "../support/fair-time.ts";
import { outboxWorld } from "../support/outbox-world.ts";
import { type Script, scriptedSmtp } from "../support/scripted-smtp.ts";
import { setUpEngine } from "../support/set-up-engine.ts";
import { until } from "../support/until.ts";

describe.each(enginesHere())("mail by one relay (%s)", (engine) => {
  const under = setUpEngine(engine);
  const open: { close(): unknown }[] = [];
  afterEach(async () => {
    for (const thing of open.splice(0).reverse()) await thing.close();
    await query(under.db.api, sql`truncate outbox`);
  });

  /** A relay that needs some milliseconds for a mail, an account with 100 inboxes, and another account. */
  async function begin({ answer, pauses = 4 }: { answer?: Script["answer"]; pauses?: number } = {}) {
    const slowly = { packets: [...Array(pauses).fill("250-Wait\r\n"), "250 Ok\r\n"] };
    const server = await scriptedSmtp({ answer: (line, seen) => (line === "." ? slowly : answer?.(line, seen)) });
    const outbound = { kind: "smtp", host: "127.0.0.1", port: server.port, tls: "off", login: undefined } as const;
    const relay = smtpRelay(outbound, { hostname: "inbox.test" });
    const world = await outboxWorld(under.db, { deps: { relay } });
    open.push(server, relay, { close: () => world.stop(0) });
    const quiet = await world.newInbox();
    const first = await world.newInbox();
    const others = await Promise.all(Array.from({ length: 99 }, () => world.newInbox(first.accountId)));
    /** Adds 30 mails of each of the 100 inboxes to the outbox. */
    async function addToOutbox(domainOf: (number: number) => string): Promise<void> {
      await Promise.all(
        [first, ...others].map(async (inbox, place) => {
          for (let count = 0; count < 30; count += 1) await world.send(inbox, `jane@${domainOf(count * 100 + place)}`);
        }),
      );
    }
    return { server, world, quiet, addToOutbox };
  }

  test.each([
    ["to one domain", () => "busy.example"],
    ["to two hundred domains", (number: number) => `busy-${number % 200}.example`],
  ])(
    "of an account with thousands of mails in 100 inboxes, %s, does not delay that of another",
    { timeout: 120_000 },
    async (_where, domainOf) => {
      const { server, world, quiet, addToOutbox } = await begin();
      await addToOutbox(domainOf);
      await world.start();
      await until(() => server.mails.length > 100);

      const waitsMs: number[] = [];
      for (let count = 1; count <= 20; count += 1) {
        const to = `joe-${count}@${domainOf(count)}`;
        const { fairMs } = await fairly(async () => {
          await world.send(quiet, to);
          await until(() => server.mails.some((mail) => mail.to === to));
        });
        waitsMs.push(fairMs);
      }
      // The relay was busy until the end.
      expect(server.mails.length).toBeLessThan(3_000);
      expect(Math.max(...waitsMs)).toBeLessThan(1_000);
    },
  );

  test("that is retried is not delayed by the backlog of another account, whatever its domain", async () => {
    let isGreylisting = true;
    const { server, world, quiet, addToOutbox } = await begin({
      answer: (line) => (isGreylisting && line.startsWith("RCPT TO:<joe@") ? "450 4.2.0 Later" : undefined),
      pauses: 40,
    });
    await world.start();
    await world.send(quiet, "joe@zzz.example");
    await server.seen("RCPT TO:<joe@");
    await world.stop();
    isGreylisting = false;
    await addToOutbox((number) => `busy-${number % 200}.example`);
    await world.start();
    await until(() => server.mails.length > 100);
    world.clock.pass(61_000);
    await until(() => server.mails.some(({ to }) => to === "joe@zzz.example"));
    // Due rows are looked for once a second, and the backlog lasts several seconds.
    expect(server.mails.length).toBeLessThan(1_500);
  });
});
