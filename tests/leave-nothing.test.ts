import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const runs = [
  ["SIGINT", "willing", 3],
  ["SIGHUP", "willing", 3],
  ["SIGTERM", "stubborn", 4],
] as const;

test.skipIf(process.platform !== "linux").each(runs)(
  "a run of the tests or a benchmark that is ended by %s leaves no process and no file behind: a %s one",
  async (signal, kind, count) => {
    const run = Bun.spawn([process.execPath, join(import.meta.dir, "support/leaving-run.ts"), kind], {
      stdout: "pipe",
      stderr: "inherit",
      // The run of this test may ignore signals of its terminal.
      detached: true,
    });
    const said = await firstLines(run.stdout, count + 1);
    const directory = said.pop() ?? "";
    const pids = said.map(Number);
    expect(pids.filter(isAlive)).toEqual(pids);
    expect(existsSync(directory)).toBe(true);
    run.kill(signal);
    expect(await run.exited).toBe({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[signal]);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(existsSync(directory)).toBe(false);
  },
  30_000,
);

async function firstLines(output: ReadableStream<Uint8Array>, count: number): Promise<string[]> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of output) {
    text += decoder.decode(piece, { stream: true });
    if (text.split("\n").length > count) break;
  }
  return text.split("\n").slice(0, count);
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
