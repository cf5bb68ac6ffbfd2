import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { linesOf } from "../../../src/commands/move/import-source.ts";
import { cpuMs } from "../../support/cpu.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-lines-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function read(text: string): Promise<string[]> {
  const file = join(directory, "lines");
  await Bun.write(file, text);
  return Array.fromAsync(linesOf(file));
}

/** No power of two is a multiple of it, so pieces of a file end anywhere in it. */
const word = "Grüße 漢字🎉 \u2028\r\u0085";

test.each([
  ["nothing", "", []],
  ["a line without an end", "a", ["a"]],
  ["a line with an end", "a\n", ["a"]],
  ["empty lines", "\n\na\n\n", ["", "", "a", ""]],
  ["what others take for the end of a line", `${word}\n${word}`, [word, word]],
])("%s is read as it was written", async (_, text, lines) => {
  expect(await read(text)).toEqual(lines);
});

test("lines that are longer than a piece stay whole", async () => {
  const lines = [1, 100_000, 2, 5, 300_000, 70_000].map((count) => word.repeat(count));
  for (const end of ["", "\n"]) expect(await read(lines.join("\n") + end)).toEqual(lines);
});

test("one line of many megabytes costs little more than the same in short ones", async () => {
  const sizeBytes = 48 << 20;
  const short = await costMsOf(`${"x".repeat(1023)}\n`.repeat(sizeBytes >> 10));
  const long = await costMsOf("x".repeat(sizeBytes));
  expect(long / short).toBeLessThan(8);
}, 60_000);

/** The least of three runs. */
async function costMsOf(text: string): Promise<number> {
  const file = join(directory, "long");
  await Bun.write(file, text);
  let leastMs = Number.POSITIVE_INFINITY;
  for (let run = 0; run < 3; run += 1) {
    const startMs = cpuMs();
    for await (const line of linesOf(file)) if (line === "") throw new Error("An empty line");
    leastMs = Math.min(leastMs, cpuMs() - startMs);
  }
  return leastMs;
}
