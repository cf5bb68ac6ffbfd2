import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { breaksPostgres, enginesHere } from "../../support/engines.ts";
import { mailOf } from "../../support/mail.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres.ts";
import { startWorld, type World, type WorldDatabase } from "../../support/world.ts";
import { worldsOn } from "../../support/world-on.ts";

describe.each(enginesHere())("The log of a database that comes from elsewhere (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("goes on behind the positions that it came with, in the order that it had", async () => {
    await using world = await startWorld();
    await world.inbox("ada");
    const old = await receive(world, "before");
    const { maintain } = world.service.deps.db;
    // Its ids say another order.
    await maintain((runner) => runner.script(fromElsewhere));
    const shown = await fetch(new URL("/v1/events", world.service.apiUrl), {
      headers: { authorization: `Bearer ${world.apiKey}` },
    });
    expect(await shown.json()).toMatchObject({ data: [] });

    await world.restart();
    const moved = await eventsAfter(world);
    expect(moved.map(({ message }) => message.subject)).toEqual(old.toReversed());
    const fresh = await receive(world, "after");
    expect(await subjectsAfter(world, moved[1]?.event_id)).toEqual([...old.slice(0, 1), ...fresh]);

    // Once is enough.
    await world.restart();
    const later = await receive(world, "later");
    expect(await subjectsAfter(world)).toEqual([...old.toReversed(), ...fresh, ...later]);
  }, 60_000);
});

describe.skipIf(!breaksPostgres)("A database that was restored from a dump into another cluster", () => {
  test("shows its old events in their order, and new ones behind them, as often as it moves", async () => {
    const directory = mkdtempSync(join(tmpdir(), "ibx-moved-"));
    const servers = [await startPostgres(), await startPostgres(), await startPostgres()];
    try {
      let before: string[] = [];
      for (const [moves, server] of servers.entries()) {
        await server.ask("create database inboxd");
        const from = servers[moves - 1];
        if (from !== undefined) {
          const dump = join(directory, `${moves}.dump`);
          await from.run("pg_dump", "--format=custom", `--file=${dump}`, from.url("inboxd"));
          // Over a database that is in use already, too.
          if (moves === 2) await (await startWorld({ database: databaseOn(server) }))[Symbol.asyncDispose]();
          await server.run("pg_restore", "--clean", "--if-exists", `--dbname=${server.url("inboxd")}`, dump);
        }
        await using world = await startWorld({ database: databaseOn(server) });
        expect(await subjectsAfter(world)).toEqual(before);

        // A cluster that has seen more than the next one will have.
        if (moves === 0) {
          await server.ask(manyTransactions);
          await world.inbox("ada");
        }
        const last = (await eventsAfter(world)).at(-1)?.event_id;
        const fresh = await receive(world, `after ${moves} moves`);
        expect(await subjectsAfter(world, last)).toEqual(fresh);
        before = [...before, ...fresh];
        expect(await subjectsAfter(world)).toEqual(before);
      }
      expect(before).toHaveLength(9);
    } finally {
      for (const server of servers) await server.remove();
      rmSync(directory, { recursive: true, force: true });
    }
  }, 120_000);
});

function databaseOn(server: PostgresServer): WorldDatabase {
  return { url: server.url("inboxd"), drop: async () => undefined };
}

const fromElsewhere = `update events set written_by = (1000000000000 + 10 * position)::text::xid8
  from (select id, row_number() over (order by written_by desc) as position from events) reversed where reversed.id = events.id`;

const manyTransactions = `do $$ begin
  for number in 1..20000 loop
    perform pg_current_xact_id();
    commit;
  end loop;
end $$`;

/** Three mails, one after the other; their subjects. */
async function receive(world: World, name: string): Promise<string[]> {
  const subjects = ["first", "second", "third"].map((nth) => `${nth} ${name}`);
  for (const subject of subjects) {
    expect(
      await world.deliver(
        mailOf({ subject, messageId: `${subject.replaceAll(" ", "-")}@example.com` }),
        "ada@inbox.localhost",
      ),
    ).toStartWith("250");
  }
  return subjects;
}

async function eventsAfter(
  world: World,
  after?: string,
): Promise<{ event_id: string; message: { subject: string } }[]> {
  const { body } = await world.api(`/v1/events?limit=100${after === undefined ? "" : `&after=${after}`}`);
  return body.data;
}

async function subjectsAfter(world: World, after?: string): Promise<string[]> {
  return (await eventsAfter(world, after)).map(({ message }) => message.subject);
}
