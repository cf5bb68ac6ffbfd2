import { describe, expect, test } from "bun:test";
import type { Claimed, ClaimedItem } from "../../../src/store/outbox/claims.ts";
import { type Kind, kinds } from "../../../src/store/outbox/kinds.ts";
import type { FreedSlot, Lanes } from "../../../src/workers/outbox/lanes.ts";
import { lineOf, pauseMs, slotsFor } from "../../../src/workers/outbox/line.ts";

const spacious: Lanes<ClaimedItem> = {
  free: () => 10,
  strangers: () => true,
  slots: () => 5,
  enter: () => () => undefined,
  slotInMs: () => undefined,
};

/** `"A1"` is a row of lane A, inbox 1; its account is the lane's. */
function row(name: string, own: Partial<ClaimedItem> = {}): ClaimedItem {
  const [lane = "", inboxId = ""] = name;
  const counted = { attempt: 1, forgivenAttempts: 0, turn: 1, hasMore: false };
  return { subjectId: name, accountId: lane, inboxId, lane, createdAt: new Date(0), ...counted, ...own };
}

const answered = (names: string, own: Partial<Claimed<ClaimedItem>> = {}): Claimed<ClaimedItem> => ({
  items: names.split(" ").flatMap((name) => (name === "" ? [] : [row(name)])),
  sweptTo: undefined,
  contended: false,
  behindAnother: false,
  ...own,
});

function lineWith(own: Partial<Lanes<ClaimedItem>> = {}, kind: Kind = kinds.webhook) {
  const line = lineOf(kind, { ...spacious, ...own });
  /** Asks, and hears this. */
  const claim = (names: string, answer: Partial<Claimed<ClaimedItem>> = {}) => {
    const question = line.ask();
    if (question !== undefined) line.hear(question, answered(names, answer));
    return question;
  };
  return { line, claim };
}

describe("The line, as a process knows it", () => {
  test("is asked for no more than can start, for a hundred at most, and for nothing where nothing can", () => {
    expect(lineWith({ free: () => 7 }).claim("")?.limit).toBe(7);
    expect(lineWith({ free: () => 500 }).claim("")?.limit).toBe(100);
    expect(lineWith({ free: () => 0 }).claim("")).toBeUndefined();
  });

  test("is asked for its newest rows after a nudge, and in every fourth claim", () => {
    const { line, claim } = lineWith();
    line.nudge();
    expect(Array.from({ length: 8 }, () => claim("")?.newest)).toEqual([
      true,
      false,
      false,
      true,
      false,
      false,
      false,
      true,
    ]);
  });

  test("is asked for its newest rows once more where so many lanes have come anew that some may be left out", () => {
    const newestAfter = (first: string, second: string) => {
      const { line, claim } = lineWith({ free: () => 2 });
      claim(first);
      line.nudge();
      claim(second);
      return claim("")?.newest;
    };
    expect(newestAfter("", "A1 B1")).toBe(true);
    // Not all that could start was taken; a second row of a lane was taken, so no lane was left; nobody new has come.
    expect(newestAfter("", "A1")).toBe(false);
    expect(newestAfter("", "A1 A2")).toBe(false);
    expect(newestAfter("A1 B1", "A2 B2")).toBe(false);
  });

  test("is asked for no newest rows any more once a look at them has left none out", () => {
    const { line, claim } = lineWith({ free: () => 2 });
    line.nudge();
    expect(["A1 B1", "C1", ""].map((names) => claim(names)?.newest)).toEqual([true, true, false]);
  });

  test("is swept from its beginning, on from where a claim came to, and to its end", () => {
    const { line, claim } = lineWith();
    expect(claim("")?.sweepAfter).toBeUndefined();
    line.sweep();
    expect(claim("A1", { sweptTo: "m" })?.sweepAfter).toBe("");
    line.sweep();
    expect(claim("")?.sweepAfter).toBe("m");
    expect(line.isSweeping()).toBe(false);
  });

  test("is swept from the same place again where another process left lanes out", () => {
    const { line, claim } = lineWith();
    line.sweep();
    claim("A1", { sweptTo: "m", contended: true });
    expect(claim("", { sweptTo: "m" })?.sweepAfter).toBe("");
    expect(claim("")?.sweepAfter).toBe("m");
  });

  test("is swept on where the limit left lanes out, and once more from the beginning", () => {
    const { line, claim } = lineWith({ free: () => 2 });
    line.sweep();
    claim("A1 B1", { sweptTo: "m" });
    expect([claim("A1 B1")?.sweepAfter, line.isSweeping()]).toEqual(["m", true]);
    expect([claim("A1", { sweptTo: "m" })?.sweepAfter, claim("")?.sweepAfter]).toEqual(["", "m"]);
    expect(line.isSweeping()).toBe(false);
  });

  test("is swept only where lanes that are new may start, and goes on with the sweep when a slot comes free", () => {
    let strangers = true;
    const { line, claim } = lineWith({ strangers: () => strangers });
    claim("A1");
    line.sweep();
    strangers = false;
    expect(claim("")?.sweepAfter).toBeUndefined();
    expect(line.hearOfSlot({ lane: "B", wasHeldBack: false })).toBe(true);
    strangers = true;
    expect(claim("")?.sweepAfter).toBe("");
    expect(line.hearOfSlot({ lane: "B", wasHeldBack: false })).toBe(false);
  });

  test("is asked for nothing while neither a lane that is known nor a new one may start", () => {
    const { line, claim } = lineWith({ strangers: () => false, slots: () => 0 });
    line.nudge();
    expect(claim("")).toBeUndefined();
    expect(line.hearOfSlot({ lane: "A", wasHeldBack: false })).toBe(true);
  });

  test("keeps a sweep that was asked for while a claim without one was under way", () => {
    const { line } = lineWith();
    const question = line.ask();
    line.sweep();
    if (question !== undefined) line.hear(question, answered("A1"));
    expect(line.ask()?.sweepAfter).toBe("");
  });

  test("knows the lanes with rows in hand, and the inbox of each that had its turn last", () => {
    const { line, claim } = lineWith({ free: () => 10 });
    claim("A1 A2 B1");
    expect(claim("")?.lanes).toEqual([
      { lane: "A", slots: 5, pace: "brisk", lastAccountId: "A", lastInboxes: { A: "2" } },
      { lane: "B", slots: 5, pace: "brisk", lastAccountId: "B", lastInboxes: { B: "1" } },
    ]);
    for (const name of ["A1", "A2"]) line.leave(row(name), () => undefined);
    expect(claim("")?.lanes.map(({ lane }) => lane)).toEqual(["B"]);
    line.turnAway(row("B1"));
    expect(claim("")?.lanes).toEqual([]);
  });

  test("hears of a slot that another kind of work gave back, where it waits for one", () => {
    const waits = (free: number, names: string, slot: FreedSlot) => {
      const { line, claim } = lineWith({ free: () => free });
      claim(names);
      return [line.hearOfSlot(slot), line.isSweeping()];
    };
    expect(waits(10, "A1", { lane: "B", wasHeldBack: false })).toEqual([false, false]);
    expect(waits(0, "", { lane: "B", wasHeldBack: false })).toEqual([true, false]);
    expect(waits(1, "A1", { lane: "B", wasHeldBack: false })).toEqual([true, false]);
    expect(waits(10, "A1", { lane: "B", wasHeldBack: true })).toEqual([true, true]);
  });

  test("has nobody waiting for a slot, unless the claim was full, the lane had more, or the account its share", () => {
    const leave = () => undefined;
    const idle = lineWith();
    idle.claim("A1");
    idle.claim("");
    expect(idle.line.leave(row("A1"), leave)).toBe(false);

    const full = lineWith({ free: () => 1 });
    full.claim("A1");
    expect(full.line.leave(row("A1"), leave)).toBe(true);

    const narrow = lineWith({ slots: () => 1 });
    narrow.claim("A1");
    narrow.claim("A2");
    narrow.claim("", { contended: false });
    expect(narrow.line.leave(row("A1"), leave)).toBe(false);
    narrow.claim("A3");
    expect(narrow.line.leave(row("A2"), leave)).toBe(true);
  });

  test("is swept when a slot of an account comes free that had its share: claims have passed by its rows", () => {
    const accounts = [{ accountId: "A", pace: "brisk" as const, inHand: 9, slots: 0 }];
    const shares = { accounts, othersSlots: { brisk: 5, slow: 5, doubtful: 5 } };
    const { line, claim } = lineWith({ shares: () => shares, isHeldBack: (accountId) => accountId === "A" });
    expect(claim("A1 B1")).toMatchObject(shares);
    claim("");
    expect([line.leave(row("B1"), () => undefined), line.isSweeping()]).toEqual([false, false]);
    expect([line.leave(row("A1"), () => undefined), line.isSweeping()]).toEqual([true, true]);
  });

  test("may have more in a lane of which an account took all that it may start", () => {
    const othersSlots = { brisk: 2, slow: 2, doubtful: 2 };
    const mayHaveMore = (names: string) => {
      const { line, claim } = lineWith({ shares: () => ({ accounts: [], othersSlots }) });
      for (const each of ["A1", names]) claim(each);
      return line.leave(row("A1"), () => undefined);
    };
    expect([mayHaveMore("A1"), mayHaveMore("A1 A2")]).toEqual([false, true]);
  });

  test("remembers whose turn was last in a lane: the account, and the inbox of each", () => {
    const { line, claim } = lineWith();
    const items = [row("A1", { accountId: "x", turn: 2 }), row("A2", { accountId: "y", turn: 1 })];
    const question = line.ask();
    if (question !== undefined) line.hear(question, answered("", { items }));
    expect(claim("")?.lanes).toMatchObject([{ lastAccountId: "x", lastInboxes: { x: "1", y: "2" } }]);
  });

  test("may have more behind mail that is settled: where there was some, and where some came meanwhile", () => {
    const { line, claim } = lineWith({}, kinds.relay);
    expect(line.isFollowed(row("A1"), line.nudges())).toBe(false);
    expect(line.isFollowed(row("A1", { hasMore: true }), line.nudges())).toBe(true);
    expect(claim("")?.lanes).toEqual([{ lane: "A", slots: 5, pace: "brisk", lastAccountId: "", lastInboxes: {} }]);
    const nudgesBefore = line.nudges();
    line.nudge();
    expect(line.isFollowed(row("A1"), nudgesBefore)).toBe(true);
  });

  test("has nothing held back behind work whose rows go side by side", () => {
    for (const kind of [kinds.webhook, kinds.parse]) {
      const { line } = lineWith({}, kind);
      line.nudge();
      expect(line.isFollowed(row("A1", { hasMore: true }), 0)).toBe(false);
    }
  });
});

test("a row that finds no slot holds back what came after it in its inbox, and nothing else", () => {
  const items = ["A1", "A1", "A2", "B1"].map((name) => row(name));
  const [first] = items;
  const lanes = { ...spacious, enter: (item: ClaimedItem) => (item === first ? undefined : () => undefined) };
  expect([...slotsFor(items, lanes).keys()]).toEqual(items.slice(2));
});

test("a claim is made again soon where another has the lane, later where it is just starting earlier rows, else not", () => {
  const pause = (contended: boolean, behindAnother: boolean, chance: number) =>
    pauseMs({ contended, behindAnother }, () => chance);
  expect([pause(true, true, 0), pause(true, false, 1)]).toEqual([5, 20]);
  expect([pause(false, true, 0), pause(false, true, 1)]).toEqual([50, 100]);
  expect(pause(false, false, 0.5)).toBeUndefined();
});
