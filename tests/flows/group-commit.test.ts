import { describe, expect, test } from "bun:test";
import { type GroupCommitOptions, groupCommit } from "../../src/flows/group-commit.ts";
import { failureOf } from "../support/failure.ts";
import { until } from "../support/until.ts";

type Own = Partial<Omit<GroupCommitOptions<string, string>, "commit">>;

/** A commit that the test ends, with the batches that it got. */
function committing(own: Own = {}) {
  const batches: string[][] = [];
  const ends: PromiseWithResolvers<void>[] = [];
  const add = groupCommit<string, string>({
    async commit(items) {
      batches.push(items);
      const end = Promise.withResolvers<void>();
      ends.push(end);
      await end.promise;
      return items.map((item) => `${item} is kept`);
    },
    sizeOf: (item) => item.length,
    isHopeless: () => false,
    ...own,
  });
  return { add, batches, ends };
}

/** A commit that refuses the given items at once. */
function refusing(bad: (items: readonly string[]) => Error | undefined, own: Own = {}) {
  const batches: string[][] = [];
  const add = groupCommit<string, string>({
    async commit(items) {
      batches.push(items);
      const error = bad(items);
      if (error !== undefined) throw error;
      return items;
    },
    sizeOf: (item) => item.length,
    isHopeless: () => false,
    ...own,
  });
  return { add, batches };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("items that arrive together are committed together", () => {
  test("in one turn of the event loop, in order, each with its own result", async () => {
    const { add, batches, ends } = committing();
    const answers = Promise.all([add("a"), add("b"), add("c")]);
    await settle();
    expect(batches).toEqual([["a", "b", "c"]]);
    ends[0]?.resolve();
    expect(await answers).toEqual(["a is kept", "b is kept", "c is kept"]);
  });

  test("while two batches commit, the next one collects, and an idle queue adds no delay", async () => {
    const { add, batches, ends } = committing();
    const answers: Promise<string>[] = [];
    for (const item of ["a", "b", "c", "d"]) {
      answers.push(add(item));
      await settle();
    }
    expect(batches).toEqual([["a"], ["b"]]);
    ends[1]?.resolve();
    await settle();
    expect(batches).toEqual([["a"], ["b"], ["c", "d"]]);
    ends[0]?.resolve();
    ends[2]?.resolve();
    expect(await Promise.all(answers)).toHaveLength(4);
  });

  test("the next batch starts before the results of the last one are returned", async () => {
    const sent: string[] = [];
    const add = groupCommit<string, string>({
      async commit(items) {
        for (let step = 0; step < 20; step++) await null;
        sent.push(...items);
        return items;
      },
      sizeOf: () => 1,
      isHopeless: () => false,
      inFlight: 1,
    });
    const sentWhenAnswered = add("a").then(() => [...sent]);
    await null;
    await null;
    const answer = add("b");
    expect(sent).toEqual([]);
    expect(await sentWhenAnswered).toEqual(["a", "b"]);
    expect(await answer).toBe("b");
  });

  test("no result is returned before the commit", async () => {
    const { add, ends } = committing();
    let answered = false;
    const answer = add("a").then(() => {
      answered = true;
    });
    await settle();
    expect(answered).toBe(false);
    ends[0]?.resolve();
    await answer;
  });
});

describe("a batch that is too small to run next to another one", () => {
  test("waits for more items", async () => {
    const { add, batches, ends } = committing({ leastBeside: 2 });
    const answers: Promise<string>[] = [];
    for (const item of ["a", "b", "c"]) {
      answers.push(add(item));
      await settle();
      if (item === "b") expect(batches).toEqual([["a"]]);
    }
    expect(batches).toEqual([["a"], ["b", "c"]]);
    for (const end of ends) end.resolve();
    expect(await Promise.all(answers)).toHaveLength(3);
  });

  test("does not wait for one that hangs", async () => {
    const { add, batches, ends } = committing({ leastBeside: 2 });
    const answers = [add("a")];
    await settle();
    answers.push(add("b"));
    await until(() => batches.length === 2);
    expect(batches).toEqual([["a"], ["b"]]);
    for (const end of ends) end.resolve();
    expect(await Promise.all(answers)).toEqual(["a is kept", "b is kept"]);
  });
});

describe("an item of a lane", () => {
  test("waits for the batch of its lane, while others pass", async () => {
    const { add, batches, ends } = committing({ lanesOf: (item) => [item.charAt(0)], inFlight: 3 });
    const answers: Promise<string>[] = [];
    for (const item of ["a1", "a2", "b1"]) {
      answers.push(add(item));
      await settle();
    }
    expect(batches).toEqual([["a1"], ["b1"]]);
    ends[1]?.resolve();
    await settle();
    expect(batches).toEqual([["a1"], ["b1"]]);
    ends[0]?.resolve();
    await settle();
    expect(batches).toEqual([["a1"], ["b1"], ["a2"]]);
    ends[2]?.resolve();
    expect(await Promise.all(answers)).toEqual(["a1 is kept", "a2 is kept", "b1 is kept"]);
  });

  test("continues after that batch has failed", async () => {
    const { add, batches } = refusing((items) => (items.includes("a bad one") ? new Error("bad") : undefined), {
      lanesOf: (item) => [item.charAt(0)],
    });
    expect(String(await failureOf(add("a bad one")))).toContain("bad");
    expect(await add("a good one")).toBe("a good one");
    expect(batches).toEqual([["a bad one"], ["a good one"]]);
  });
});

describe("a batch is limited", () => {
  test("in number", async () => {
    const { add, batches, ends } = committing({ mostItems: 2, inFlight: 1 });
    const answers = Promise.all(["a", "b", "c"].map(add));
    await settle();
    expect(batches).toEqual([["a", "b"]]);
    ends[0]?.resolve();
    await settle();
    expect(batches).toEqual([["a", "b"], ["c"]]);
    ends[1]?.resolve();
    await answers;
  });

  test("in bytes; a larger item is a batch alone", async () => {
    const { add, batches, ends } = committing({ mostBytes: 4, inFlight: 10 });
    const answers = Promise.all(["aa", "bb", "c", "dddddddd", "e"].map(add));
    await settle();
    expect(batches).toEqual([["aa", "bb"], ["c"], ["dddddddd"], ["e"]]);
    for (const end of ends) end.resolve();
    await answers;
  });
});

describe("a batch that fails", () => {
  const isBad = (items: readonly string[]) => (items.includes("bad") ? new Error("a bad row") : undefined);

  test("is tried item by item: a bad item does not refuse the good ones", async () => {
    const { add, batches } = refusing(isBad);
    const settled = await Promise.allSettled(["a", "bad", "b"].map(add));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(batches).toEqual([["a", "bad", "b"], ["a"], ["bad"], ["b"]]);
  });

  test("and would fail for each item is not tried again", async () => {
    const { add, batches } = refusing(() => new Error("away"), { isHopeless: () => true });
    const settled = await Promise.allSettled(["a", "b"].map(add));
    expect(settled.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(batches).toEqual([["a", "b"]]);
  });

  test("whose later items cannot succeed returns a result for each", async () => {
    let calls = 0;
    const { add } = refusing(() => (calls++ === 1 ? undefined : new Error("away")), { isHopeless: () => calls > 1 });
    const settled = await Promise.allSettled(["a", "b", "c"].map(add));
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  });

  test("does not delay later items", async () => {
    const { add } = refusing(isBad, { inFlight: 1 });
    const bad = add("bad");
    expect(bad).rejects.toThrow("a bad row");
    await bad.catch(() => undefined);
    expect(await add("a")).toBe("a");
  });
});
