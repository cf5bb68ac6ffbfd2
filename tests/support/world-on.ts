import { afterAll, beforeAll } from "bun:test";
import { makeServiceDatabase } from "./database.ts";
import type { EngineName } from "./engines.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { startWorld, type World, type WorldDatabase, type WorldOptions } from "./world.ts";

/**
 * Worlds on one engine for the tests of a `describe`, each on its own database. Those on Postgres share one server: that of
 * TEST_DATABASE_URL, or one started for these tests.
 */
export function worldsOn(engine: EngineName): (options?: WorldOptions) => Promise<World> {
  const given = process.env.TEST_DATABASE_URL;
  let own: PostgresServer | undefined;
  beforeAll(async () => {
    if (engine === "postgres" && !given) own = await startPostgres();
  }, 30_000);
  afterAll(async () => {
    await own?.remove();
  }, 30_000);
  let made = 0;

  async function database(): Promise<WorldDatabase | "embedded"> {
    if (engine === "embedded") return "embedded";
    if (given) return makeServiceDatabase(given);
    if (own === undefined) throw new Error("Cannot start a world: its server is not there before the tests begin");
    made += 1;
    const name = `world_${made}`;
    await own.ask(`create database ${name}`);
    return { url: own.url(name), drop: async () => undefined };
  }

  return async (options) => startWorld({ database: await database(), ...options });
}

/** One world for all tests of a `describe`; each test makes its own inboxes. */
export function oneWorldOn(engine: EngineName, options?: WorldOptions): () => World {
  const start = worldsOn(engine);
  let world: World | undefined;
  beforeAll(async () => {
    world = await start(options);
  }, 30_000);
  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
  }, 30_000);
  return () => {
    if (world === undefined) throw new Error("Cannot use the world: it is not there before the tests begin");
    return world;
  };
}
