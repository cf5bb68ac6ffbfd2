import { describe, expect, test } from "bun:test";
import { type HeldFeeds, heldFeeds } from "../../../src/flows/events/event-feeds.ts";

/** What is looked at next after what was read. */
async function lookedAtAfter(reads: (held: HeldFeeds<string>) => void): Promise<readonly string[]> {
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const held = heldFeeds<string>(resolve);
  reads(held);
  return promise.finally(held.stop);
}

describe("Feeds with events that an older transaction holds back", () => {
  type Read = [read: string, heldBack: string, hasMoved: boolean];
  const rows: [what: string, reads: Read[], next: string][] = [
    ["are looked at again", [["a b", "a b", false]], "a b"],
    ["without those that are not held back", [["a b", "b", true]], "b"],
    [
      "also when another's are held back after them",
      [
        ["a", "a", false],
        ["b", "b", false],
      ],
      "a b",
    ],
    [
      "also when something came of another that is held back after them",
      [
        ["a", "a", false],
        ["b", "b", true],
      ],
      "a b",
    ],
    [
      "until a read says that they are held back no more",
      [
        ["a b", "a b", false],
        ["a", "", true],
      ],
      "b",
    ],
  ];
  test.each(rows)("%s", async (_what, reads, next) => {
    const lookedAt = await lookedAtAfter((held) => {
      for (const [read, heldBack, hasMoved] of reads) held.haveRead(words(read), words(heldBack), hasMoved);
    });
    expect(lookedAt).toEqual(words(next));
  });

  test("are not put off by others that are read all the time", async () => {
    let isLookedAt = false;
    const held = heldFeeds<string>((feeds) => {
      isLookedAt = feeds.includes("a");
    });
    held.haveRead(["a"], ["a"], false);
    while (!isLookedAt) {
      held.haveRead(["b"], ["b"], true);
      await new Promise((resolve) => setImmediate(resolve));
    }
    held.stop();
  });
});

function words(text: string): string[] {
  return text.split(" ").filter((word) => word !== "");
}
