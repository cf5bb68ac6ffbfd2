import { describe, expect, test } from "bun:test";
import { namedAncestors, resolveThread } from "../../src/domain/threading.ts";

describe("the ids that a mail names, the strongest first", () => {
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

  test("of 100,000 the nearest fifty, of which one is the root", () => {
    const references = Array.from({ length: 100_000 }, (_, index) => `id${index}`);
    const named = namedAncestors({ inReplyTo: ["parent"], references });
    expect(named).toHaveLength(50);
    expect(named.slice(0, 2)).toEqual(["parent", "id99999"]);
    expect(named.at(-1)).toBe("id0");
  });
});

describe("the thread that a mail joins", () => {
  const here: Readonly<Record<string, string>> = { a: "thread 1", b: "thread 2" };
  const awaited: Readonly<Record<string, string>> = { p: "thread 3", q: "thread 4", a: "thread 5" };
  const known = {
    of: (id: string) => here[id],
    awaiting: (id: string) => awaited[id],
    wasRemoved: (id: string) => id === "removed",
  };
  const rows: [string, string, string[], string | undefined, string[]][] = [
    ["none when it names nothing", "own", [], undefined, []],
    ["that of the message it answers", "own", ["a"], "thread 1", []],
    ["the first that is known decides", "own", ["b", "a"], "thread 2", []],
    ["one that is not here is passed over, and awaited", "own", ["x", "a"], "thread 1", ["x"]],
    ["none when all are unknown: all are awaited", "own", ["x", "y"], undefined, ["x", "y"]],
    ["what is weaker than the one that decides is awaited too", "own", ["a", "x"], "thread 1", ["x"]],
    ["a mail that names itself doesn't wait for itself", "own", ["own", "x"], undefined, ["x"]],
    ["a mail that names only itself starts a thread", "own", ["own"], undefined, []],
    ["that of another mail under its id", "a", [], "thread 1", []],
    ["also when it names itself", "a", ["a"], "thread 1", []],
    ["what it answers before what bears its id", "a", ["b"], "thread 2", []],
    ["what bears its id before what waits for its parent", "a", ["p"], "thread 1", ["p"]],
    ["that which waits for it", "p", [], "thread 3", []],
    ["that which waits for what it names, too", "own", ["p"], "thread 3", ["p"]],
    ["of several that wait, for the nearest", "own", ["x", "q", "p"], "thread 4", ["x", "q", "p"]],
    ["that which waits for itself is the nearest", "p", ["q"], "thread 3", ["q"]],
    ["a removed one is passed over, and not awaited", "own", ["removed", "x", "a"], "thread 1", ["x"]],
    ["what is here before what waits", "own", ["p", "b"], "thread 2", ["p"]],
  ];
  test.each(rows)("%s", (_, ownId, ancestors, threadId, missing) => {
    expect(resolveThread(ownId, ancestors, known)).toEqual({ threadId, missing });
  });

  test("of fifty that are not here the nearest are awaited, and the root", () => {
    const ancestors = Array.from({ length: 50 }, (_, index) => `x${index}`);
    expect(resolveThread("own", ancestors, known).missing).toEqual([...ancestors.slice(0, 19), "x49"]);
  });
});
