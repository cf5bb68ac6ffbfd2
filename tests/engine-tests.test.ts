import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { allTests, alwaysEmbedded, engineTests, readsEngine } from "../scripts/engine-tests.ts";
import { importsOf } from "../scripts/imports.ts";
import { house, sourcesIn } from "../scripts/sources.ts";

const inHouse = (path: string) => join(house, path);

test.each([
  ["opens a world", "tests/sending/replies.test.ts"],
  ["opens a database", "tests/store/mail/receiving.test.ts"],
  ["starts a process on the database", "tests/sending/crash.test.ts"],
  ["reads the variable itself", "tests/commands/serve.test.ts"],
  ["runs a command that opens a database", "tests/commands/portable.test.ts"],
])("a test that %s runs on both engines", (_, path) => {
  expect(engineTests()).toContain(path);
});

test.each([
  ["is of a rule", "tests/domain/threading.test.ts"],
  ["is of the embedded engine alone", "tests/database/embedded.test.ts"],
  ["drives a browser", "tests/console/console.test.ts"],
  ["runs foreign tools", "tests/http/document/foreign-tools.test.ts"],
  ["runs a command that asks a service", "tests/commands/listen.test.ts"],
  ["calls tools for agents", "tests/mcp/calls.test.ts"],
])("a test that %s runs once", (_, path) => {
  expect(allTests()).toContain(path);
  expect(engineTests()).not.toContain(path);
});

test.each(alwaysEmbedded)("%s opens nothing but the embedded engine", (path) => {
  const text = readFileSync(inHouse(path), "utf8");
  expect(text).toMatch(/(?:startWorld|oneWorldOn|openEngine)\(/);
  expect(text).not.toMatch(
    /(?:[wW]orldsOn|[wW]orldOn|startWorld|openEngine|openMigrated|setUpEngine)\((?!(?:\{ database: )?"embedded")/,
  );
  expect(text).not.toMatch(/TEST_DATABASE_URL|enginesHere|startInboxd|startFleet|livesOn|Database\(/);
});

test("nothing under tests/ reads the engine without a test that imports it", () => {
  // A program that a test starts is not imported by it: it gets its database from its test.
  const imported = new Set(allTests().flatMap((path) => [...importsOf(inHouse(path))]));
  const readers = sourcesIn(["tests"]).map(inHouse).filter(readsEngine);
  expect(readers.length).toBeGreaterThan(10);
  expect(readers.filter((path) => !imported.has(path))).toEqual([]);
});
