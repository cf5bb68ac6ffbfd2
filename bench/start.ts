/**
 * `bun bench/start.ts`: from the start of the binary to its first answer, what it takes of memory at rest, what a command takes
 * that needs no service, and the binary's size, beside the least program that Bun can compile. Builds dist/inboxd first, unless
 * BINARY names one. The files are in the machine's cache, since each is read just before.
 */
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { startInboxd } from "../tests/support/inboxd.ts";
import { startFlushingPostgres } from "./support/database.ts";
import { median } from "./support/load.ts";
import { residentMb, untilAtRest } from "./support/process-usage.ts";
import { type Bound, report } from "./support/report.ts";

const rounds = Number(process.env.ROUNDS ?? 5);
const house = join(import.meta.dir, "..");

interface Start {
  ms: number;
  atRestMb: number;
}

const directory = mkdtempSync(join(tmpdir(), "ibx-start-"));
const binary = process.env.BINARY === undefined ? built() : resolve(process.env.BINARY);
const bare = compiledBare();
const postgres = await startFlushingPostgres();
try {
  const commands: Record<"bare" | "ours", number[]> = { bare: [], ours: [] };
  const starts: Record<"bare" | "embedded first" | "embedded later" | "postgres first" | "postgres later", Start[]> = {
    bare: [],
    "embedded first": [],
    "embedded later": [],
    "postgres first": [],
    "postgres later": [],
  };
  for (let round = 0; round < rounds; round += 1) {
    starts.bare.push(await bareStart());
    const dataDir = join(directory, `embedded-${round}`);
    starts["embedded first"].push(await ourStart({ DATA_DIR: dataDir }));
    starts["embedded later"].push(await ourStart({ DATA_DIR: dataDir }));
    await postgres.ask(`create database start_${round}`);
    const onPostgres = { DATA_DIR: join(directory, `postgres-${round}`), DATABASE_URL: postgres.url(`start_${round}`) };
    starts["postgres first"].push(await ourStart(onPostgres));
    starts["postgres later"].push(await ourStart(onPostgres));
    commands.bare.push(commandMs([bare, "version"]));
    commands.ours.push(commandMs([binary, "version"]));
  }
  const ms = (of: keyof typeof starts) => median(starts[of].map(({ ms }) => ms));
  const atRestMb = (of: keyof typeof starts) => median(starts[of].map(({ atRestMb }) => atRestMb));
  const name = "a bare Bun.serve, compiled";
  const time = (what: string, of: keyof typeof starts, bound: Bound) =>
    report({ what, value: ms(of), unit: "ms", beside: [{ name, value: ms("bare") }], target: { value: bound } });
  time("start on the embedded database, from nothing", "embedded first", { atMost: 2000 });
  time("later start on the embedded database", "embedded later", { atMost: 1000 });
  time("start on an empty Postgres", "postgres first", { atMost: 600 });
  time("later start on Postgres", "postgres later", { atMost: 600 });
  report({
    what: "a command that needs no service, from its start to its end",
    value: median(commands.ours),
    unit: "ms",
    beside: [{ name: "an empty one, compiled", value: median(commands.bare) }],
  });
  for (const engine of ["embedded", "postgres"] as const) {
    report({
      what: `memory at rest, ${engine === "embedded" ? "database included" : "on Postgres"}`,
      value: atRestMb(`${engine} later`),
      unit: "MB",
      beside: [{ name, value: atRestMb("bare") }],
      ...(engine === "embedded" && { target: { value: { atMost: 200 } } }),
      note: `after a first start ${Math.round(atRestMb(`${engine} first`))} MB`,
    });
  }
  const sizeMb = (path: string) => statSync(path).size / 1e6;
  report({ what: "size of the binary", value: sizeMb(binary), unit: "MB", beside: [{ name, value: sizeMb(bare) }] });
} finally {
  await postgres.remove();
  rmSync(directory, { recursive: true, force: true });
}

async function ourStart(env: Record<string, string>): Promise<Start> {
  const inboxd = await startInboxd({ command: [binary], cwd: directory, env });
  await untilAtRest([inboxd.pid]);
  const atRestMb = residentMb(inboxd.pid);
  await inboxd.stop();
  return { ms: inboxd.coldStartMs, atRestMb };
}

function commandMs(words: string[]): number {
  const startedMs = performance.now();
  ran(words, directory);
  return performance.now() - startedMs;
}

async function bareStart(): Promise<Start> {
  const startedMs = performance.now();
  const child = Bun.spawn([bare], { stdout: "pipe", stderr: "inherit" });
  const { value: port } = await child.stdout.pipeThrough(new TextDecoderStream()).getReader().read();
  await (await fetch(`http://127.0.0.1:${port?.trim()}/`)).text();
  const ms = performance.now() - startedMs;
  await untilAtRest([child.pid]);
  const atRestMb = residentMb(child.pid);
  child.kill();
  await child.exited;
  return { ms, atRestMb };
}

function built(): string {
  ran([process.execPath, "scripts/build.ts"]);
  return join(house, "dist/inboxd");
}

/** With the options of scripts/build.ts that affect a start. */
function compiledBare(): string {
  const path = join(directory, "bare");
  ran([
    process.execPath,
    "build",
    "--compile",
    "--bytecode",
    "--format=esm",
    "--outfile",
    path,
    "bench/bare-server.ts",
  ]);
  return path;
}

function ran(command: string[], cwd = house): void {
  const { exitCode, stderr } = Bun.spawnSync(command, {
    cwd,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed: ${stderr}`);
}
