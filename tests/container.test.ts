import { expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readConfig } from "../src/config.ts";
import { describeConfig } from "../src/config-shown.ts";

const house = join(import.meta.dir, "..");
const linesOf = (file: string) => readFileSync(join(house, file), "utf8").split("\n");

/** The paths that `COPY` takes from the build context, not from another stage. */
const copied = linesOf("Dockerfile")
  .filter((line) => line.startsWith("COPY ") && !line.includes("--from="))
  .map((line) => line.split(" ").slice(1));

test("the build context has every path that the container copies", () => {
  const sent = linesOf(".dockerignore").filter((line) => line.startsWith("!"));
  for (const source of copied.flatMap((words) => words.slice(0, -1))) expect(sent).toContain(`!${source}`);
});

test("the copied paths are all that the binary needs", async () => {
  const directory = mkdtempSync(join(tmpdir(), "ibx-container-"));
  try {
    for (const words of copied) {
      const target = words.at(-1) ?? "";
      for (const source of words.slice(0, -1)) {
        const to = join(directory, target.endsWith("/") ? join(target, source) : target);
        mkdirSync(dirname(to), { recursive: true });
        cpSync(join(house, source), to, { recursive: true });
      }
    }
    symlinkSync(join(house, "node_modules"), join(directory, "node_modules"));
    expect(existsSync(join(directory, "src/main.ts"))).toBe(true);
    const { success, logs } = await Bun.build({
      entrypoints: ["src/binary.ts", "scripts/build.ts"].map((file) => join(directory, file)),
      target: "bun",
      packages: "external",
      throw: false,
    });
    expect({ success, logs: logs.map(String) }).toEqual({ success: true, logs: [] });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

interface Compose {
  services: Record<"inboxd" | "database", { environment: Record<string, string | number>; env_file?: unknown }>;
}

const compose = linesOf("compose.yaml").join("\n");
const { inboxd, database } = (Bun.YAML.parse(compose) as Compose).services;

test("compose passes each setting of .env on, except those that the container decides", () => {
  expect(inboxd.env_file).toEqual([{ path: ".env", required: false }]);
  const { BASE_URL, ...decided } = inboxd.environment;
  expect(BASE_URL).toMatch(/^\$\{BASE_URL:-/);
  expect(Object.keys(decided)).toEqual(["DATABASE_URL", "DATA_DIR", "HOST", "PORT", "SMTP_HOST", "SMTP_PORT"]);
  const environment = Object.fromEntries(Object.entries(decided).map(([name, value]) => [name, String(value)]));
  const settings = describeConfig(readConfig({ ...environment, DATABASE_URL: "postgres://inboxd@database/inboxd" }));
  expect(settings).toMatchObject({ DATA_DIR: "/data", HOST: "0.0.0.0", SMTP_HOST: "0.0.0.0" });
});

test("compose has no password and does not start without one", () => {
  expect(inboxd.environment.DATABASE_URL).toMatch(
    /^postgres:\/\/inboxd:\$\{POSTGRES_PASSWORD:\?[^}]+\}@database\/inboxd$/,
  );
  expect(database.environment.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD\}$/);
  expect(compose).not.toContain("POSTGRES_PASSWORD:-");
});
