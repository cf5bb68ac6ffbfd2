import { describe, expect, test } from "bun:test";
import { namedAncestors, resolveThread } from "../../src/domain/threading.ts";

describe("what a mail names of its conversation, the strongest first", () => {
  const rows: [string, string[], string[], string[]][] = [
    ["nothing", [], [], []],
    ["In-Reply-To alone", ["a"], [], ["a"]],
    ["References from the last", [], ["root", "middle", "parent"], ["parent", "middle", "root"]],
    ["In-Reply-To before References", ["other"], ["root", "parent"], ["other", "parent", "root"]],
    ["each once", ["parent"], ["root", "parent", "root"], ["parent", "root"]],
    ["several of In-Reply-To in their order", ["a", "b"], ["c"], ["a", "b", "c"]],
  ];
  test.each(rows)("%s", (_, inReplyTo, references, named) => {
    expect(namedAncestors({ inReplyTo, references })).toEqual(named);
  });

  test("of 100,000 the nearest thousand, and the root", () => {
    const references = Array.from({ length: 100_000 }, (_, index) => `id${index}`);
    const named = namedAncestors({ inReplyTo: ["parent"], references });
    expect(named).toHaveLength(1_000);
    expect(named.slice(0, 2)).toEqual(["parent", "id99999"]);
    expect(named.at(-1)).toBe("id0");
  });
});

describe("the thread that a mail joins", () => {
  const here: Readonly<Record<string, string>> = { a: "thread 1", b: "thread 2" };
  const rows: [string, string[], string | undefined, string[]][] = [
    ["none when it names nothing", [], undefined, []],
    ["that of the message it answers", ["a"], "thread 1", []],
    ["the first that is known decides", ["b", "a"], "thread 2", []],
    ["one that is not here is passed over, and awaited", ["x", "a"], "thread 1", ["x"]],
    ["none when all are unknown: all are awaited", ["x", "y"], undefined, ["x", "y"]],
    ["what is weaker than the one that decides is not awaited", ["a", "x"], "thread 1", []],
    ["a mail that names itself doesn't wait for itself", ["own", "x"], undefined, ["x"]],
    ["a mail that names only itself starts a thread", ["own"], undefined, []],
  ];
  test.each(rows)("%s", (_, ancestors, threadId, missing) => {
    expect(resolveThread("own", ancestors, (id) => here[id])).toEqual({ threadId, missing });
  });

  test("a thousand parents that are not here are not all awaited", () => {
    const ancestors = Array.from({ length: 1_000 }, (_, index) => `x${index}`);
    expect(resolveThread("own", ancestors, () => undefined).missing).toEqual(ancestors.slice(0, 20));
  });

  test("a mail under an id that is here already, of another mail, joins that one's thread when it names it", () => {
    expect(resolveThread("a", ["a"], (id) => here[id]).threadId).toBe("thread 1");
  });
});
