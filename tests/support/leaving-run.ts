/**
 * A run that starts processes of all kinds and prints their ids, for the test of scripts/leave-nothing.ts. As `stubborn` it also
 * starts one that only SIGKILL ends, and waits for ever, as a benchmark may whose peers have ended.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { leaveNothing } from "../../scripts/leave-nothing.ts";

leaveNothing();
const isStubborn = process.argv[2] === "stubborn";
const directory = mkdtempSync(join(tmpdir(), "ibx-leaving-"));
const say = "echo $$; exec sleep 300";
const kinds: [command: string[], options: { detached?: boolean; cwd?: string }][] = [
  [["sh", "-c", say], {}],
  // Like the shells for the guides: interactive, and without the run's terminal.
  [["bash", "--norc", "-i", "-c", "echo $$; while :; do sleep 0.1; done"], { detached: true }],
  // A daemon: its parent has ended, and it is in a session of its own.
  [["sh", "-c", `setsid sh -c '${say}' &`], { cwd: directory }],
];
if (isStubborn) kinds.push([["sh", "-c", "trap '' TERM HUP QUIT; echo $$; while :; do sleep 1; done"], {}]);
const ends: Promise<number>[] = [];
for (const [command, options] of kinds) {
  const child = Bun.spawn(command, { ...options, stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  ends.push(child.exited);
  const { value } = await child.stdout.getReader().read();
  if (options.cwd !== undefined) await child.exited;
  process.stdout.write(new TextDecoder().decode(value));
}
console.log(directory);
if (isStubborn) setInterval(() => undefined, 1_000);
await Promise.all(ends);
