/**
 * Runs the tests, all of them or those that are named: `bun scripts/test.ts [--update-timings] [FILE …]`. The service as a process
 * of its own is one that is compiled here first: from source, each of a hundred and fifty would read the sources again.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { compile } from "./compile.ts";
import { endStarted, leaveNothing } from "./leave-nothing.ts";
import { quickPlace } from "./quick-directory.ts";

const house = join(import.meta.dir, "..");
const directory = leaveNothing(quickPlace());
const binary = join(directory, "inboxd");
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
    env: { ...process.env, TEST_INBOXD: binary, ...(process.stderr.isTTY && { FORCE_COLOR: "1" }) },
    stdio: ["inherit", "pipe", "pipe"],
    // A session of its own, by which what it leaves behind is found.
    detached: true,
  },
);
const handingOn = [handOn(tests.stdout, process.stdout), handOn(tests.stderr, process.stderr)];
process.exitCode = await tests.exited;
// First, since what is left behind may hold the streams open.
await endStarted([tests.pid]);
const retried = await Promise.all(handingOn);
for (const name of retried.flat()) console.log(`Retried: ${name}`);

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
