import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportToFile } from "../../../src/commands/move/export-target.ts";
import { failureOf } from "../../support/failure.ts";
import { inboxdHere, runInboxd, startInboxd } from "../../support/inboxd.ts";
import { greeted } from "../../support/raw-smtp.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-pipe-"));
afterAll(() => rmSync(directory, { recursive: true }));

/** Runs it with a pipe before and behind it. */
function piped(words: readonly string[], dataDir: string, stdin: Blob | "ignore" = "ignore") {
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir, TMPDIR: directory };
  return Bun.spawn([...inboxdHere, ...words], { env, stdin, stdout: "pipe", stderr: "pipe" });
}

async function accountIn(name: string): Promise<string> {
  const dataDir = mkdtempSync(join(directory, `${name}-`));
  expect(await runInboxd(["account", "create", name], { env: { DATA_DIR: dataDir } })).toMatchObject({ code: 0 });
  return dataDir;
}

test("an export goes through a pipe into an import, and its result is on stderr", async () => {
  const from = await accountIn("acme");
  const exporting = piped(["export", "-"], from);
  const [everything, said] = await Promise.all([
    new Response(exporting.stdout).blob(),
    new Response(exporting.stderr).text(),
  ]);
  expect(await exporting.exited).toBe(0);
  const lines = (await everything.text()).trimEnd().split("\n");
  expect(lines.map((line) => Object.keys(JSON.parse(line))[0])).toEqual(
    expect.arrayContaining(["inboxd", "table", "end"]),
  );
  const { rows, sha256 } = JSON.parse(lines.at(-1) ?? "");
  expect(said).toBe(`rows    ${rows}\nsha256  ${sha256}\n`);

  const to = mkdtempSync(join(directory, "piped-to-"));
  const importing = piped(["import", "-", "--json"], to, everything);
  expect(JSON.parse(await new Response(importing.stdout).text())).toMatchObject({ file: "stdin", rows });
  const { stdout } = await runInboxd(["account", "list", "--json"], { env: { DATA_DIR: to } });
  expect(JSON.parse(stdout)).toMatchObject([{ name: "acme" }]);
  expect(readdirSync(directory).filter((name) => name.startsWith(".inboxd-import-"))).toEqual([]);
}, 60_000);

test("an export whose reader ends early reports it, with code 1", async () => {
  const from = { env: { DATA_DIR: mkdtempSync(join(directory, "read-by-halves-")) } };
  const service = await startInboxd(from);
  await service.request("POST", "/v1/inboxes", { username: "ada" });
  const client = await greeted(service.smtpPort);
  await client.ask("EHLO x");
  for (const line of ["MAIL FROM:<jane@example.com>", "RCPT TO:<ada@inbox.localhost>", "DATA"]) await client.ask(line);
  // More than any pipe holds.
  expect(await client.ask(`Subject: Long\r\n\r\n${"Not yet read\r\n".repeat(400_000)}\r\n.`)).toStartWith("250");
  await client.ask("QUIT");
  await service.stop();

  const exporting = piped(["export", "-"], from.env.DATA_DIR);
  const reader = exporting.stdout.getReader();
  await reader.read();
  await reader.cancel();
  expect([await exporting.exited, await new Response(exporting.stderr).text()]).toEqual([
    1,
    "Cannot export: the program that reads the export ended before the export was complete\n",
  ]);
}, 60_000);

test("a file that was created during the export stays as it is", async () => {
  const path = join(mkdtempSync(join(directory, "meanwhile-")), "export.jsonl");
  const exporting = exportToFile(path, async (write) => {
    await write('{"inboxd":"export"}\n{"end":true,"rows":0,"sha256":""}\n');
    writeFileSync(path, "of somebody else");
  });
  expect(await failureOf(exporting)).toEqual(new Error(`Cannot export: ${path} already exists`));
  expect(readFileSync(path, "utf8")).toBe("of somebody else");
  expect(readdirSync(join(path, ".."))).toEqual(["export.jsonl"]);
});
