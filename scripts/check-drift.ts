/**
 * Fails when `src/store/schema.ts` says something that the migrations in `drizzle/` do not make: somebody forgot
 * `drizzle-kit generate`. Works on a copy, and writes nothing here. Fails, too, when the types of the SDK are not those of the API.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import config from "../drizzle.config.ts";
import { areTypesFresh } from "./make-sdk-types.ts";

const house = join(import.meta.dir, "..");
const migrations = join(house, config.out ?? "");
const copy = mkdtempSync(join(tmpdir(), "ibx-drift-"));

try {
  cpSync(migrations, copy, { recursive: true });
  const drift = generate(relative(house, copy));
  if (drift === undefined) console.log("drizzle/ makes what src/store/schema.ts says");
  else {
    console.error(`Cannot vouch for drizzle/: src/store/schema.ts says something else\n\n${drift}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(copy, { recursive: true });
}

if (await areTypesFresh()) console.log("The types of the SDK are those of the API");
else {
  console.error(
    "Cannot vouch for sdk/typescript/src/openapi.ts: the API says something else; `bun run sdk` makes it anew",
  );
  process.exitCode = 1;
}

/** What would be added, or what the tool said; undefined where nothing would. */
function generate(out: string): string | undefined {
  const before = new Set(sqlFiles());
  const tool = Bun.spawnSync(
    [process.execPath, "node_modules/drizzle-kit/bin.cjs", "generate", ...optionsOf(config), "--out", out],
    { cwd: house, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  );
  const added = sqlFiles().filter((name) => !before.has(name));
  if (added.length > 0) return added.map((name) => `${name}\n${readFileSync(join(copy, name), "utf8")}`).join("\n");
  // The tool exits with 0 also when it has failed: only its word counts.
  const said = `${tool.stdout}${tool.stderr}`;
  return said.includes("No schema changes") ? undefined : said;
}

function optionsOf({ dialect, schema, casing }: typeof config): string[] {
  return ["--dialect", dialect, "--schema", String(schema), ...(casing === undefined ? [] : ["--casing", casing])];
}

function sqlFiles(): string[] {
  return readdirSync(copy).filter((name) => name.endsWith(".sql"));
}
