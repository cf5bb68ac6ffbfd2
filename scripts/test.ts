/**
 * Runs the tests, all of them or the files that are named: `bun scripts/test.ts [--engine-only] [--update-timings] [FILE …]`.
 * `--engine-only` runs the files whose tests depend on the engine, for the second of two runs on both engines.
 * Compiles the service first, for the tests that start it as a process: from source, each of 150 processes would read the sources again.
 * TEST_INBOXD names a binary of the same sources that is compiled already.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { compile } from "./compile.ts";
import { engineTests } from "./engine-tests.ts";
import { endStarted, leaveNothing } from "./leave-nothing.ts";
import { quickPlace } from "./quick-directory.ts";
import { house } from "./sources.ts";

const options = process.argv.slice(2);
const isEngineOnly = options.includes("--engine-only");
const directory = leaveNothing(quickPlace());
const binary = process.env.TEST_INBOXD ?? compiled();
const tests = Bun.spawn(
  [
    process.execPath,
    "test",
    // As in tests/support/time-out.ts, which Bun applies to the first file of a process alone.
    "--timeout=90000",
    // One more than there are cores, for the moments in which a test waits.
    `--parallel=${availableParallelism() + 1}`,
    // Files of one worker share the modules that they load: to load and compile them for each file takes a third of a run.
    "--no-isolate",
    // The longest first, so that no core is idle at the end.
    `--timings=${join(house, "tests/timings.json")}`,
    ...options.filter((option) => option !== "--engine-only"),
    ...(isEngineOnly ? engineTests().map((path) => `./${path}`) : []),
  ],
  {
    cwd: house,
    env: { ...process.env, TEST_INBOXD: binary, ...(process.stderr.isTTY && { FORCE_COLOR: "1" }) },
    stdio: ["inherit", "pipe", "pipe"],
    // A session of its own, by which endStarted finds the processes that outlive it.
    detached: true,
  },
);
const outputs = [passOn(tests.stdout, process.stdout), passOn(tests.stderr, process.stderr)];
process.exitCode = await tests.exited;
// First, since a process that is left may hold the streams open.
await endStarted([tests.pid]);
const retried = await Promise.all(outputs);
for (const name of retried.flat()) console.log(`Retried: ${name}`);

/** Compiles the service into the directory of this run, which is deleted at the end. */
function compiled(): string {
  const path = join(directory, "inboxd");
  compile(path);
  return path;
}

/** Passes on the output as it comes; returns the names of the tests in it that took more than one attempt. */
async function passOn(output: ReadableStream<Uint8Array>, to: NodeJS.WriteStream): Promise<string[]> {
  const decoder = new TextDecoder();
  let all = "";
  for await (const piece of output) {
    to.write(piece);
    all += decoder.decode(piece, { stream: true });
  }
  const lines = Bun.stripANSI(all).matchAll(/^\((?:pass|fail)\) (.+ \(attempt \d+\))/gm);
  return [...new Set(Array.from(lines, ([, name = ""]) => name))];
}
