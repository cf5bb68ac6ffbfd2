import { afterAll, beforeAll, describe, expect, jest, test } from "bun:test";
import { createKey, revokeKey } from "../../../src/flows/account/manage-accounts.ts";
import { type EndReason, type OpenStream, openStreams } from "../../../src/flows/events/open-streams.ts";
import { listeners } from "../../../src/flows/listeners.ts";
import { openCalls } from "../../../src/flows/open-calls.ts";
import { findFirstAccount } from "../../../src/store/account/accounts.ts";
import { until } from "../../support/until.ts";
import { startWorld, type World } from "../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

/** Open streams whose seconds are milliseconds, with what was done to each of them. */
async function keeper(secondMs = 2) {
  const { deps } = world.service;
  const account = await findFirstAccount(deps.db.api);
  const key = await createKey(deps, deps.db.api, { accountId: account?.id ?? "" });
  const counted = listeners({ perAccount: 10, perProcess: 10 });
  const closed: string[] = [];
  const calls = openCalls({ ...deps, secondMs });
  const observe = { closed: (why: string) => void closed.push(why) };
  const open = openStreams({ listeners: counted, calls, secondMs, observe });
  /** A client with unsent bytes. Each call of `takenBytes` counts as a second. */
  function listen({ unsentBytes = 0, takesBytes = 0 } = {}) {
    let takenBytes = 0;
    let looks = 0;
    const said: string[] = [];
    const stream: OpenStream = {
      caller: { id: account?.id ?? "", keyId: key.id },
      ip: null,
      unsentBytes: () => unsentBytes,
      takenBytes() {
        looks += 1;
        takenBytes += takesBytes;
        return takenBytes;
      },
      beat: () => said.push("beat"),
      end(reason: EndReason) {
        said.push(reason);
        forget();
      },
    };
    const forget = open.keep("sse", stream);
    return { said, forget, looks: () => looks };
  }
  function stop() {
    open.stop();
    calls.stop();
  }
  return { open, listen, closed, counted, key, [Symbol.dispose]: stop };
}

describe("A stream", () => {
  test("gets a heartbeat every fifteen seconds, and goes on", async () => {
    using kept = await keeper();
    const { said } = kept.listen();
    await until(() => said.length >= 3);
    expect(said).toEqual(["beat", "beat", "beat"]);
  });

  test.each([
    ["nothing", 0],
    ["1,000 bytes a second", 1_000],
  ])(
    "that takes %s for a minute, although more is unsent, is ended as slow, without heartbeats",
    async (_, takesBytes) => {
      using kept = await keeper();
      const { said, looks } = kept.listen({ unsentBytes: 1, takesBytes });
      await until(() => said.includes("slow"));
      expect(looks()).toBe(60);
      expect(said).toEqual(["slow"]);
      expect(kept.closed).toEqual(["slow"]);
      expect(kept.counted.count("sse")).toBe(0);
    },
  );

  test.each([
    ["takes 1,200 bytes a second", { unsentBytes: 1, takesBytes: 1_200 }],
    ["has taken all that there is", { unsentBytes: 0, takesBytes: 0 }],
  ])("that %s stays", async (_, client) => {
    using kept = await keeper();
    const { said, looks } = kept.listen(client);
    await until(() => looks() > 200);
    expect(said).not.toContain("slow");
  });

  test("is ended when its key is revoked, also if the signal is lost", async () => {
    using kept = await keeper();
    const { said } = kept.listen();
    await revokeKey(world.service.deps, kept.key.id);
    await until(() => said.includes("unauthorized"));
    expect(kept.closed).toEqual(["unauthorized"]);
  });

  test("whose client leaves is no listener any more", async () => {
    using kept = await keeper();
    const { said, forget } = kept.listen();
    expect(kept.counted.count("sse")).toBe(1);
    forget();
    forget();
    expect(kept.counted.count("sse")).toBe(0);
    expect(kept.closed).toEqual(["left"]);
    expect(said).toEqual([]);
  });

  test("is ended with all others at a shutdown, spread over a second", async () => {
    using kept = await keeper(1_000);
    const all = Array.from({ length: 8 }, () => kept.listen());
    jest.useFakeTimers();
    const ended = kept.open.endAll();
    const closed: number[] = [];
    for (let quarter = 0; quarter < 4; quarter += 1) {
      jest.advanceTimersByTime(250);
      await Promise.resolve();
      closed.push(kept.closed.length);
    }
    jest.useRealTimers();
    await ended;
    // The first ends at 0 ms, then one each 125 ms.
    expect(closed).toEqual([3, 5, 7, 8]);
    expect(all.map(({ said }) => said.at(-1))).toEqual(Array(8).fill("shutting_down"));
  });
});
