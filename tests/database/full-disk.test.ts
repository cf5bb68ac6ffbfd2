import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { breaksPostgres, enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { hasSmallDisks, type SmallDisk, smallDisk } from "../support/small-disk.ts";
import { countRows } from "../support/stored.ts";
import { watchesClock } from "../support/watches-clock.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

/** What a disk that is full gives to those who ask, and how soon it is over. */
for (const engine of enginesHere().filter((name) => name === "embedded" || breaksPostgres)) {
  describe.if(hasSmallDisks)(`A full disk (${engine})`, () => {
    let disk: SmallDisk;
    let server: PostgresServer | undefined;
    let world: World;
    let ada: WorldInbox;
    let kept = 0;

    beforeAll(async () => {
      disk = smallDisk(engine === "embedded" ? 64 : 128);
      if (engine === "postgres") server = await postgresOn(disk);
      world = await startWorld(
        server === undefined
          ? { database: "embedded", env: { DATA_DIR: disk.path } }
          : { database: { url: server.url("ibx"), drop: server.remove } },
      );
      ada = await world.inbox("ada");
    }, 30_000);

    afterAll(async () => {
      await world?.[Symbol.asyncDispose]();
      disk?.remove();
    }, 30_000);

    /** The reply to one more mail, with a text that needs new room. */
    async function reply(): Promise<string> {
      const text = Buffer.from(crypto.getRandomValues(new Uint8Array(30_000))).toString("base64");
      const said = await world.deliver(mailOf({ messageId: `${crypto.randomUUID()}@b.example`, text }), ada.address);
      if (said.startsWith("250")) kept += 1;
      return said;
    }

    const readiness = async () => {
      const { status, body } = await world.api("/readyz");
      return status === 200 ? "ready" : (body.detail as string);
    };

    /** Milliseconds until it is so, asked again and again. */
    async function untilSo(isSo: () => Promise<boolean>): Promise<number> {
      const startedAt = performance.now();
      while (!(await isSo()) && performance.now() < startedAt + 15_000);
      return performance.now() - startedAt;
    }

    test("refuses mail for now, is told by /readyz while reads still work, and leaves nothing behind", {
      ...watchesClock,
      timeout: 60_000,
    }, async () => {
      expect(await readiness()).toBe("ready");
      expect(await reply()).toStartWith("250");
      disk.fill();
      await untilSo(async () => (await reply()).startsWith("451"));
      await untilSo(async () => (await readiness()) !== "ready");
      expect(await readiness()).toBe("Cannot answer: the disk of the database is full");
      expect((await world.api(`/v1/inboxes/${ada.id}/messages`)).status).toBe(200);
      disk.free();
      await untilSo(async () => (await reply()).startsWith("250"));
      expect(await untilSo(async () => (await readiness()) === "ready")).toBeLessThan(2_000);
    });

    test.if(engine === "embedded")(
      "until the log can't be written ends the engine, and soon after there is room it works again",
      { ...watchesClock, timeout: 60_000 },
      async () => {
        disk.fill();
        const { db } = world.service.deps;
        // Nothing but the log.
        const message = () =>
          db.maintain((runner) => runner.run("select pg_logical_emit_message(true, 'ibx', repeat('y', 200000))", []));
        await untilSo(() =>
          message().then(
            () => false,
            () => true,
          ),
        );
        // Long enough for several attempts to start it; whoever is told to wait meanwhile must not make the wait longer.
        const fullAt = performance.now();
        while (performance.now() < fullAt + 3_000) expect(await reply()).toStartWith("451");
        expect(await readiness()).toBe("Cannot answer: the disk of the database is full");
        disk.free();
        expect(await untilSo(async () => (await reply()).startsWith("250"))).toBeLessThan(4_000);
        expect(await countRows(db.api, "messages", ada.id)).toBe(kept);
      },
    );
  });
}

async function postgresOn(disk: SmallDisk): Promise<PostgresServer> {
  const server = await startPostgres(["min_wal_size=32MB", "max_wal_size=32MB"], disk.path);
  await server.ask("create database ibx");
  return server;
}
