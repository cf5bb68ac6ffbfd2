import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createKey, revokeKey } from "../../../src/flows/account/manage-accounts.ts";
import { type EndReason, type OpenStream, openStreams } from "../../../src/flows/events/open-streams.ts";
import { listeners } from "../../../src/flows/listeners.ts";
import { findFirstAccount } from "../../../src/store/account/accounts.ts";
import { until } from "../../support/until.ts";
import { startWorld, type World } from "../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

/** A keeper whose seconds are milliseconds, with what it said to each of its streams. */
async function keeper(secondMs = 2) {
  const { deps } = world.service;
  const account = await findFirstAccount(deps.db.api);
  const key = await createKey(deps, deps.db.api, { accountId: account?.id ?? "" });
  const counted = listeners({ perAccount: 10, perProcess: 10 });
  const closed: string[] = [];
  const open = openStreams({ ...deps, listeners: counted, secondMs, observe: { closed: (why) => closed.push(why) } });
  function listen(isStalled: () => boolean = () => false) {
    const said: string[] = [];
    const stream: OpenStream = {
      caller: { id: account?.id ?? "", keyId: key.id },
      isStalled,
      rest: () => said.push("rest"),
      beat: () => said.push("beat"),
      end(reason: EndReason) {
        said.push(reason);
        forget();
      },
    };
    const forget = open.keep("sse", stream);
    return { said, forget };
  }
  return { open, listen, closed, counted, key, [Symbol.dispose]: open.stop };
}

describe("Who listens", () => {
  test("is spoken to every fifteen seconds, and is let be", async () => {
    using kept = await keeper();
    const { said } = kept.listen();
    await until(() => said.length >= 3);
    expect(said).toEqual(["beat", "beat", "beat"]);
  });

  test("and takes nothing for a minute is sent away as slow, and not spoken to meanwhile", async () => {
    using kept = await keeper();
    const { said } = kept.listen(() => true);
    await until(() => said.includes("slow"));
    expect(said.filter((word) => word === "rest")).toHaveLength(60);
    expect(said).not.toContain("beat");
    expect(kept.closed).toEqual(["slow"]);
    expect(kept.counted.count("sse")).toBe(0);
  });

  test("and takes something now and then stays", async () => {
    using kept = await keeper();
    let looks = 0;
    const { said } = kept.listen(() => {
      looks += 1;
      return looks % 50 !== 0;
    });
    await until(() => looks > 200);
    expect(said).not.toContain("slow");
  });

  test("is sent away once its key is revoked, though nobody told", async () => {
    using kept = await keeper();
    const { said } = kept.listen();
    await revokeKey(world.service.deps, kept.key.id);
    await until(() => said.includes("unauthorized"));
    expect(kept.closed).toEqual(["unauthorized"]);
  });

  test("and leaves by itself is no listener any more", async () => {
    using kept = await keeper();
    const { said, forget } = kept.listen();
    expect(kept.counted.count("sse")).toBe(1);
    forget();
    forget();
    expect(kept.counted.count("sse")).toBe(0);
    expect(kept.closed).toEqual(["left"]);
    expect(said).toEqual([]);
  });

  test("is sent away with all others when the service ends, not all in one instant", async () => {
    using kept = await keeper(40);
    const all = Array.from({ length: 8 }, () => kept.listen());
    const ended = kept.open.endAll();
    await until(() => kept.closed.length > 0);
    expect(kept.closed.length).toBeLessThan(8);
    await ended;
    expect(all.map(({ said }) => said.at(-1))).toEqual(Array(8).fill("shutting_down"));
  });
});
