/** The conditions of the figures: machine, versions, commit. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { dependencies } from "../../package.json";
import { median } from "./load.ts";

/** The conditions in one line. */
export function describeMachine(): string {
  const all = cpus();
  const cores = all.length === 1 ? "1 core" : `${all.length} cores`;
  return [
    `${all[0]?.model ?? "a processor without a name"}, ${cores}`,
    `${Math.round(totalmem() / 2 ** 30)} GiB of memory`,
    `${process.platform === "linux" ? "Linux" : process.platform} ${release()}`,
    `Bun ${Bun.version}`,
    postgresVersion(),
    `PGlite ${dependencies["@electric-sql/pglite"]}`,
  ].join("; ");
}

/** The day and the commit, with a remark if the tree has changes. */
export function describeState(): string {
  const git = (...words: string[]) =>
    Bun.spawnSync(["git", ...words], { cwd: import.meta.dir })
      .stdout.toString()
      .trim();
  const isChanged = git("status", "--porcelain", "--", ":/", ":!/docs/performance.md") !== "";
  const day = new Date().toISOString().slice(0, 10);
  return `${day}, commit ${git("rev-parse", "--short", "HEAD") || "unknown"}${isChanged ? " with changes" : ""}`;
}

/** The version of the Postgres that tests/support/postgres.ts starts. */
function postgresVersion(): string {
  const root = "/usr/lib/postgresql";
  const [newest] = [...new Bun.Glob("*/bin/postgres").scanSync({ cwd: root, absolute: true })]
    .map((program) => [Number(program.slice(root.length + 1).split("/")[0]), program] as const)
    .sort(([one], [other]) => other - one);
  if (newest === undefined) return "no Postgres";
  const said = Bun.spawnSync([newest[1], "--version"]).stdout.toString();
  return `Postgres ${/\d+(?:\.\d+)?/.exec(said)?.[0] ?? "of an unknown version"}`;
}

/** The time of a flush, which each commit waits for, on the file system of the benchmarks' databases. */
export function flushMs(): number {
  const directory = mkdtempSync(join(tmpdir(), "ibx-flush-"));
  const file = openSync(join(directory, "file"), "w");
  const block = Buffer.alloc(8192);
  const times = Array.from({ length: 200 }, () => {
    const startedMs = performance.now();
    writeSync(file, block);
    fdatasyncSync(file);
    return performance.now() - startedMs;
  });
  closeSync(file);
  rmSync(directory, { recursive: true });
  return median(times);
}
