import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInboxd } from "../../support/inboxd.ts";
import { startWorld, type World } from "../../support/world.ts";

/** Suppressions out of a server and into it again, by the commands. */
let world: World;
const directory = mkdtempSync(join(tmpdir(), "ibx-suppressions-"));
beforeAll(async () => {
  world = await startWorld();
  for (const address of ["jane@example.com", "bob@example.com"]) {
    await world.api("/v1/suppressions", { method: "POST", body: { address, detail: "by phone" } });
  }
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await world[Symbol.asyncDispose]();
});

const run = (...words: string[]) =>
  runInboxd(["suppressions", ...words], {
    env: { INBOXD_URL: world.service.apiUrl.origin, INBOXD_API_KEY: world.apiKey },
  });

const addresses = (lines: string) =>
  lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).address);

const ways: readonly [what: string, options: readonly string[], told: string][] = [
  ["for a person", [], "exported  2\n"],
  ["for a script", ["--json"], '{\n  "exported": 2\n}\n'],
];
for (const [what, options, told] of ways) {
  test(`on stdout stand the JSON lines alone, and nothing of them is left out when they come back, ${what}`, async () => {
    const exported = await run("export", "-", ...options);
    expect([exported.code, exported.stderr]).toEqual([0, told]);
    expect(addresses(exported.stdout)).toEqual(["bob@example.com", "jane@example.com"]);
    const file = join(directory, `piped-${options.length}.jsonl`);
    await Bun.write(file, exported.stdout);
    const back = await run("import", file, "--json");
    expect([back.code, back.stderr]).toEqual([0, ""]);
    expect(JSON.parse(back.stdout)).toEqual({ created: 0, existing: 2, leftOut: 0 });
  });
}

test("an export to a file prints the file and the count", async () => {
  const file = join(directory, "list.jsonl");
  const exported = await run("export", file, "--json");
  expect([exported.code, exported.stderr]).toEqual([0, ""]);
  expect(JSON.parse(exported.stdout)).toEqual({ file, exported: 2 });
  expect(addresses(await Bun.file(file).text())).toEqual(["bob@example.com", "jane@example.com"]);
});

test("each line of an import is counted, also those that the server skips", async () => {
  const file = join(directory, "passed-over.csv");
  const rows = [
    "new@example.com,BOUNCE,",
    "new@example.com,COMPLAINT,",
    "ended@example.com,BOUNCE,2020-01-01T00:00:00Z",
  ];
  await Bun.write(file, `EmailAddress,Reason,LastUpdateTime\n${rows.join("\n")}\n`);
  const imported = await run("import", file, "--json");
  expect([imported.code, imported.stderr]).toEqual([
    0,
    "Left out 2 entries that occur twice, or are bounces that have expired\n",
  ]);
  expect(JSON.parse(imported.stdout)).toEqual({ created: 1, existing: 0, leftOut: 2 });
});
