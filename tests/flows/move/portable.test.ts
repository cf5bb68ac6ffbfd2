import { beforeAll, describe, expect, test } from "bun:test";
import type { Database } from "../../../src/database/db.ts";
import { exportEverything } from "../../../src/flows/move/export-everything.ts";
import { importEverything } from "../../../src/flows/move/import-everything.ts";
import { enginesHere, openMigrated } from "../../support/engines.ts";
import { failureOf } from "../../support/failure.ts";
import { mailOf } from "../../support/mail.ts";
import { startWorld } from "../../support/world.ts";

const mailDomain = "inbox.localhost";

/** The lines of an export of a service with received and sent mail, an event, an own domain and a deleted inbox. */
async function exportOfUsedService(): Promise<string[]> {
  await using world = await startWorld();
  const ada = await world.inbox("ada");
  const gone = await world.inbox("gone");
  expect((await world.api("/v1/domains", { method: "POST", body: { domain: "own.test" } })).status).toBe(201);
  await world.deliver(
    mailOf({ messageId: "1@x.example", subject: "One \u2028 line", text: "a line\u2028and another" }),
    ada.address,
  );
  await world.deliver(
    mailOf({ messageId: "2@x.example", subject: "Re: One", headers: ["In-Reply-To: <1@x.example>"] }),
    ada.address,
  );
  await world.deliver(
    new Uint8Array([...Buffer.from("Subject: bytes\r\n\r\n"), 0xff, 0x00, 0xfe, 13, 10]),
    ada.address,
    "",
  );
  await world.api(`/v1/inboxes/${ada.id}/send`, {
    method: "POST",
    headers: { "idempotency-key": "k", prefer: "respond-async" },
    body: { to: "jane@example.com", subject: "Out", body: "Hello", autoSubmitted: "auto-generated" },
  });
  await world.api(`/v1/inboxes/${gone.id}`, { method: "DELETE" });
  return await exported(world.service.deps.db);
}

async function exported(db: Database, id = "one"): Promise<string[]> {
  let text = "";
  await exportEverything(db, { id, version: "0.1.0", now: new Date(0) }, async (line) => {
    text += line;
  });
  return text.trimEnd().split("\n");
}

const reader = (lines: readonly string[]) =>
  async function* () {
    yield* lines;
  };

/** The rows, in any order, without those that the outbox has changed since. */
function rowsOf(lines: readonly string[], leaveOut: readonly string[] = ["outbox", "settings"]): string[] {
  return lines
    .map((line) => JSON.parse(line))
    .filter((line) => line.table !== undefined && !leaveOut.includes(line.table))
    .flatMap((line) => line.rows.map((row: unknown) => `${line.table} ${JSON.stringify(row)}`));
}

for (const engine of enginesHere()) {
  describe(`An export, read into ${engine}`, () => {
    let lines: string[];
    beforeAll(async () => {
      lines = await exportOfUsedService();
    });

    /** An empty database with the schema. */
    async function emptyTarget(): Promise<Database & AsyncDisposable> {
      const { db, remove } = await openMigrated(engine);
      return { ...db, [Symbol.asyncDispose]: remove };
    }

    test("has the fields of automated mail", () => {
      const messages = rowsOf(lines).filter((row) => row.startsWith("messages "));
      expect(
        messages.filter((row) => row.includes('"kind":"notification","reasons":["null-reverse-path"]')),
      ).toHaveLength(1);
      expect(messages.filter((row) => row.includes('"autoSubmitted":"auto-generated"'))).toHaveLength(1);
    });

    test("is exported again unchanged", async () => {
      await using target = await emptyTarget();
      const { rows } = await importEverything({ db: target, mailDomain }, reader(lines));
      expect(rows).toBe(JSON.parse(lines.at(-1) ?? "").rows);
      expect(rowsOf(await exported(target))).toEqual(rowsOf(lines));
    });

    test("can be imported again after an aborted import, and twice has the same result as once", async () => {
      await using target = await emptyTarget();
      // The file is read twice before the first row is written; the third reading ends early.
      let readings = 0;
      const cutOff = async function* () {
        readings += 1;
        const end = readings < 3 ? lines.length : lines.findIndex((line) => line.startsWith('{"table":"messages"')) + 1;
        yield* lines.slice(0, end);
        if (readings === 3) throw new Error("cut off");
      };
      expect(String(await failureOf(importEverything({ db: target, mailDomain }, cutOff)))).toContain("cut off");
      const resumed = await importEverything({ db: target, mailDomain }, reader(lines));
      expect(resumed.resumedAfter).toBeGreaterThan(0);
      await importEverything({ db: target, mailDomain }, reader(lines));
      expect(rowsOf(await exported(target))).toEqual(rowsOf(lines));
    });

    test("is refused if it is damaged, and nothing is written", async () => {
      await using target = await emptyTarget();
      const faults: [string, string[]][] = [
        ["its end is missing", lines.slice(0, -1)],
        ["its checksum does not match", lines.map((line) => line.replace("Hello", "Hallo"))],
        ["a line is not JSON", [...lines.slice(0, 3), "{", ...lines.slice(3)]],
        ["it is not an export of inboxd", lines.slice(1)],
      ];
      for (const [why, damaged] of faults) {
        expect(String(await failureOf(importEverything({ db: target, mailDomain }, reader(damaged))))).toContain(why);
      }
      expect(rowsOf(await exported(target), [])).toEqual([]);
    });

    test("is refused by a service whose MAIL_DOMAIN is an own domain in it, and nothing is written", async () => {
      await using target = await emptyTarget();
      const importing = importEverything({ db: target, mailDomain: "Own.Test" }, reader(lines));
      expect(String(await failureOf(importing))).toContain("is the MAIL_DOMAIN of this service");
      expect(rowsOf(await exported(target), [])).toEqual([]);
    });

    test("is refused by a database with other accounts", async () => {
      await using other = await startWorld({ database: "embedded" });
      expect(String(await failureOf(importEverything(other.service.deps, reader(lines))))).toContain(
        "accounts of its own",
      );
    });
  });
}
