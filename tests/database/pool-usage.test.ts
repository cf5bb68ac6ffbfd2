import { expect, test } from "bun:test";
import { openPool } from "../../src/database/pool.ts";
import type { Connection } from "../../src/database/runner.ts";

/** A connection whose statements end when told. */
function heldConnection() {
  const held: (() => void)[] = [];
  const connection: Connection = {
    isOpen: true,
    hasAnswered: true,
    run: () => new Promise((resolve) => held.push(() => resolve([]))),
    script: async () => "",
    sever: () => undefined,
    close: async () => undefined,
  };
  return { connection, endOne: () => held.shift()?.() };
}

test("a pool tells how many connections are taken and how many callers wait", async () => {
  const { connection, endOne } = heldConnection();
  const pool = openPool({ size: 1, connect: () => connection, acquireMs: 5_000, lifetimeMs: 60_000 });
  expect(pool.usage()).toEqual({ size: 1, taken: 0, waiting: 0 });

  const first = pool.run("select 1", []);
  const second = pool.run("select 2", []);
  await Promise.resolve();
  expect(pool.usage()).toEqual({ size: 1, taken: 1, waiting: 1 });

  endOne();
  await first;
  expect(pool.usage()).toEqual({ size: 1, taken: 1, waiting: 0 });

  endOne();
  await second;
  expect(pool.usage()).toEqual({ size: 1, taken: 0, waiting: 0 });
  await pool.close();
});
