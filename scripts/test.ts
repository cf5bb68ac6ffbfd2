/**
 * Runs the tests, all of them or those that are named: `bun scripts/test.ts [--update-timings] [FILE …]`. The service as a process
 * of its own is one that is compiled here first: from source, each of a hundred and fifty would read the sources again.
 */
import { mkdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { compile } from "./compile.ts";
import { quickDirectory } from "./quick-directory.ts";

const house = join(import.meta.dir, "..");
const directory = quickDirectory("ibx-tests-");
try {
  const binary = join(directory, "inboxd");
  const temporary = join(directory, "tmp");
  mkdirSync(temporary);
  compile(binary);
  const tests = Bun.spawn(
    [
      ...[process.execPath, "test", "--timeout", "90000"],
      // One more than there are cores, for the moments in which a test waits.
      `--parallel=${availableParallelism() + 1}`,
      // Else each file would load and compile anew what it shares with all others, which is a third of all that a run costs.
      "--no-isolate",
      // The longest first, so that no core is idle at the end.
      `--timings=${join(house, "tests/timings.json")}`,
      ...process.argv.slice(2),
    ],
    {
      cwd: house,
      env: {
        ...process.env,
        TEST_INBOXD: binary,
        TMPDIR: temporary,
        ...(process.stderr.isTTY && { FORCE_COLOR: "1" }),
      },
      stdio: ["inherit", "pipe", "pipe"],
    },
  );
  // So that nothing stays in memory behind a run that was interrupted.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => tests.kill(signal));
  const retried = await Promise.all([handOn(tests.stdout, process.stdout), handOn(tests.stderr, process.stderr)]);
  process.exitCode = await tests.exited;
  for (const name of retried.flat()) console.log(`Retried: ${name}`);
} finally {
  rmSync(directory, { recursive: true, force: true });
}

/** Passes on what is said, as it comes; the tests in it that took more than one attempt. */
async function handOn(said: ReadableStream<Uint8Array>, to: NodeJS.WriteStream): Promise<string[]> {
  const decoder = new TextDecoder();
  let all = "";
  for await (const piece of said) {
    to.write(piece);
    all += decoder.decode(piece, { stream: true });
  }
  const lines = Bun.stripANSI(all).matchAll(/^\((?:pass|fail)\) (.+ \(attempt \d+\))/gm);
  return [...new Set(Array.from(lines, ([, name = ""]) => name))];
}
