import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInboxd, startInboxd } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { greeted } from "../support/raw-smtp.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-portable-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("a service that runs is exported, and reads back equal from another database", async () => {
  const key = "key-of-both-services-in-this-test";
  const from = { env: { DATA_DIR: join(directory, "from"), API_KEY: key } };
  const to = { env: { DATA_DIR: join(directory, "to"), API_KEY: key } };
  const file = join(directory, "everything.jsonl");

  const old = await startInboxd(from);
  const inbox = (await (await old.request("POST", "/v1/inboxes", { username: "ada" })).json()) as { id: string };
  for (const number of [1, 2, 3]) {
    const client = await greeted(old.smtpPort);
    for (const line of ["EHLO x", "MAIL FROM:<jane@example.com>", "RCPT TO:<ada@inbox.localhost>", "DATA"])
      await client.ask(line);
    expect(
      await client.ask(`${mailOf({ messageId: `${number}@x.example`, subject: `Number ${number}` })}\r\n.`),
    ).toStartWith("250");
    await client.ask("QUIT");
  }
  const read = async (running: typeof old) => {
    const response = await running.request("GET", `/v1/inboxes/${inbox.id}/messages`);
    return (await response.json()) as { total: number };
  };
  const before = await read(old);
  expect(before.total).toBe(3);
  const exported = await runInboxd(["export", file, "--json"], from);
  expect(exported).toMatchObject({ code: 0, stderr: "" });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await old.stop();

  const imported = await runInboxd(["import", file, "--json"], to);
  expect(imported).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(imported.stdout).rows).toBe(JSON.parse(exported.stdout).rows);
  const moved = await startInboxd(to);
  expect(await read(moved)).toEqual(before);
  await moved.stop();
});

test("a file that is no export is refused with code 1", async () => {
  const file = join(directory, "no-export");
  await Bun.write(file, '{"a":1}\n');
  const refused = await runInboxd(["import", file], { env: { DATA_DIR: join(directory, "empty") } });
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain("Cannot import");
});
