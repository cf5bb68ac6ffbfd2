import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { type LargeEventClient, largeEvents } from "../../../src/flows/events/large-events.ts";

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** Memory for 100 bytes, and what it did with its clients. */
function memory() {
  const said: string[] = [];
  const large = largeEvents({ mostBytes: 100 });
  function client(name: string, { accountId = "one", takenBytes = (): number => 0 } = {}): LargeEventClient {
    const own: LargeEventClient = {
      accountId,
      takenBytes,
      goOn: () => said.push(`${name} goes on`),
      cutOff() {
        said.push(`${name} is cut off`);
        large.letGo(own);
      },
    };
    return own;
  }
  return { large, client, said, [Symbol.dispose]: large.stop };
}

/** Takes 64 MiB a second. */
const fast = { takenBytes: () => performance.now() * (64 << 10) };

/** Lets five seconds pass, with what is done at once after each look. */
async function fiveSeconds(): Promise<void> {
  for (let look = 0; look < 20; look += 1) {
    jest.advanceTimersByTime(250);
    await Promise.resolve();
  }
}

test("An account holds half of the memory that is left, so that another finds room", () => {
  using kept = memory();
  const [first, second, other] = [
    kept.client("first"),
    kept.client("second"),
    kept.client("other", { accountId: "two" }),
  ];
  expect(kept.large.mayHold(first, {}, 50)).toBe(true);
  expect(kept.large.mayHold(second, {}, 10)).toBe(false);
  expect(kept.large.mayHold(other, {}, 25)).toBe(true);
});

test("An event larger than all of the memory goes out alone", () => {
  using kept = memory();
  expect(kept.large.mayHold(kept.client("first"), {}, 1_000)).toBe(true);
  expect(kept.large.mayHold(kept.client("second"), {}, 1)).toBe(false);
});

test("Clients that are sent the same event share its memory", () => {
  using kept = memory();
  const event = {};
  for (const name of ["first", "second", "third"]) expect(kept.large.mayHold(kept.client(name), event, 50)).toBe(true);
});

test("A slow client is closed when another waits, and not before", async () => {
  using kept = memory();
  kept.large.mayHold(kept.client("slow"), {}, 50);
  await fiveSeconds();
  expect(kept.said).toEqual([]);
  const next = kept.client("next");
  expect(kept.large.mayHold(next, {}, 50)).toBe(false);
  await fiveSeconds();
  expect(kept.said).toEqual(["slow is cut off", "next goes on"]);
  expect(kept.large.mayHold(next, {}, 50)).toBe(true);
});

test("A fast client keeps its event, and the newest that waits goes on when it has taken it", async () => {
  using kept = memory();
  const holder = kept.client("fast", fast);
  kept.large.mayHold(holder, {}, 50);
  for (const name of ["older", "newer"]) expect(kept.large.mayHold(kept.client(name, fast), {}, 50)).toBe(false);
  await fiveSeconds();
  expect(kept.said).toEqual([]);
  kept.large.letGo(holder);
  await Promise.resolve();
  expect(kept.said).toEqual(["newer goes on"]);
});

test("A client that leaves while it waits is not called", async () => {
  using kept = memory();
  const holder = kept.client("fast", fast);
  kept.large.mayHold(holder, {}, 50);
  const waiting = kept.client("waiting");
  kept.large.mayHold(waiting, {}, 50);
  kept.large.letGo(waiting);
  kept.large.letGo(holder);
  await fiveSeconds();
  expect(kept.said).toEqual([]);
});
