import { expect, test } from "bun:test";
import { within } from "../../src/primitives/within.ts";

const never = new Promise<never>(() => undefined);

test("the result is that of the work if it is in time", async () => {
  const late = () => "late";
  expect(await within(60_000, Promise.resolve(1), late)).toBe(1);
  expect(within(60_000, Promise.reject(new Error("broken")), late)).rejects.toThrow("broken");
});

test("the result is that of `late`, or its error, if the work is too late", async () => {
  expect(await within(1, never, () => "late")).toBe("late");
  expect(
    within(1, never, () => {
      throw new Error("no answer in 1 ms");
    }),
  ).rejects.toThrow("no answer in 1 ms");
});

test("`late` may end the work, and its failure then has no effect", async () => {
  const work = Promise.withResolvers<never>();
  const end = () => {
    work.reject(new Error("ended"));
    return "late";
  };
  expect(await within(1, work.promise, end)).toBe("late");
});

test("work in time leaves no timer", async () => {
  const script = `import { within } from "./src/primitives/within.ts"; await within(60000, Promise.resolve(), () => undefined);`;
  const run = Bun.spawn([process.execPath, "-e", script], { cwd: `${import.meta.dir}/../..`, timeout: 20_000 });
  expect(await run.exited).toBe(0);
});
