import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { prune } from "../../src/workers/prune.ts";
import { enginesHere } from "../support/engines.ts";
import { randomFile, sendForm, upload } from "../support/files.ts";
import { faultsOfSources } from "../support/held-sources.ts";
import { send } from "../support/sends.ts";
import { countRows } from "../support/stored.ts";
import { untilAnswered } from "../support/until.ts";
import type { World, WorldInbox } from "../support/world.ts";
import { worldsOn } from "../support/world-on.ts";

const env = { SENDS_PER_MINUTE: "0", SENDS_PER_DAY: "0", COLD_RECIPIENT_DAILY: "0", SEND_WAIT_MS: "30000" };
const several = {
  to: ["ann@example.com", { address: "bob@example.org", name: "Bob" }],
  cc: "eve@example.net",
  bcc: ["gil@example.com"],
};

describe.each(enginesHere())("An inbox with mail to several recipients, files and forwards (%s)", (engine) => {
  const startWorld = worldsOn(engine);

  test("leaves nothing when it is deleted, apart from files that other inboxes share", async () => {
    await using world = await startWorld({ env });
    const db = world.service.deps.db.api;
    const [gone, stays] = [await world.inbox(), await world.inbox()];
    const plan = randomFile(1_100_000, 3);
    const received = await receivedIn(world, gone, plan);
    const theirs = await receivedIn(world, stays, randomFile(20_000, 4));
    const { body: file } = await upload(world, randomFile(1_200_000, 5));

    const sent: string[] = [];
    async function sends(inbox: WorldInbox, body: object): Promise<string> {
      const answer = await send(world, inbox.id, body, { waits: true });
      expect([answer.status, answer.body.status]).toEqual([200, "sent"]);
      if (inbox === gone) sent.push(answer.body.messageId);
      return answer.body.messageId;
    }
    const withFiles = await sends(gone, {
      ...several,
      attachments: [
        { uploadId: file.id },
        { uploadId: file.id, filename: "again.pdf" },
        { messageId: theirs, filename: "plan.bin" },
        { content: btoa("own"), filename: "own.txt" },
      ],
    });
    await sends(gone, { ...several, forwardOf: received, subject: undefined });
    await sends(gone, { forwardOf: theirs, forwardAs: "attachment", subject: undefined });
    await sends(gone, { forwardOf: withFiles, forwardAs: "attachment", body: undefined });
    await sends(gone, { ...several, to: [stays.address, "ann@example.com"], attachments: [{ uploadId: file.id }] });
    const form = { texts: { to: ["ann@example.com", "joe@example.com"], subject: "Hi", body: "x" } };
    const parts = [
      ["attachments", randomFile(1_100_000, 6), "a.bin"],
      ["attachments", randomFile(10, 7), "b.bin"],
    ] as const;
    const byForm = await sendForm(world, gone.id, { key: "form", ...form, files: parts });
    expect(byForm.status).toBe(200);
    sent.push(byForm.body.messageId);
    const kept = await sends(stays, { forwardOf: received, subject: undefined });
    const whole = await sends(stays, { forwardOf: withFiles, forwardAs: "attachment", subject: undefined });
    await settled();
    expect(await countRows(db, "recipients")).toBeGreaterThan(10);
    expect(await faultsOfSources(db)).toEqual([]);

    await removed(gone);
    const ids = sql`array[${sql.join([...sent, received], sql`, `)}]::text[]`;
    for (const table of ["messages", "threads", "correspondents", "cold_sends", "message_search", "awaited_parents"]) {
      expect([table, await countRows(db, table, gone.id)]).toEqual([table, 0]);
    }
    for (const table of ["recipients", "attachments"]) {
      const left = await query(db, sql`select 1 from ${sql.identifier(table)} where message_id = any(${ids})`);
      expect([table, left]).toEqual([table, []]);
    }
    expect(await faultsOfSources(db)).toEqual([]);

    // Shared files are still complete.
    expect(Buffer.compare(await fileOf(kept), Buffer.from(plan))).toBe(0);
    expect((await fileOf(whole)).includes('filename="again.pdf"')).toBe(true);
    expect((await send(world, stays.id, { attachments: [{ uploadId: file.id }] }, { waits: true })).status).toBe(200);
    await settled();

    await removed(stays);
    expect((await world.api(`/v1/uploads/${file.id}`, { method: "DELETE" })).status).toBe(204);
    const tables = ["messages", "threads", "recipients", "attachments", "source_chunks", "message_search"];
    for (const table of tables) expect([table, await countRows(db, table)]).toEqual([table, 0]);

    /** Waits until all is sent and in the search index. */
    async function settled(): Promise<void> {
      await untilAnswered(async () => {
        const waiting = await query(db, sql`select 1 from outbox where kind <> 'webhook' limit 1`);
        return waiting.length === 0 ? (true as const) : undefined;
      });
    }

    async function removed(inbox: WorldInbox): Promise<void> {
      expect((await world.api(`/v1/inboxes/${inbox.id}`, { method: "DELETE" })).status).toBeLessThan(300);
      world.clock.pass(61_000);
      await prune({ ...world.service.deps, eventRetentionDays: 30 });
    }

    async function fileOf(messageId: string): Promise<Buffer> {
      const [first] = (await world.api(`/v1/messages/${messageId}`)).body.attachments;
      return Buffer.from(await (await fetch(first.url)).arrayBuffer());
    }
  }, 120_000);
});

/** A received message with a file. */
async function receivedIn(world: World, inbox: WorldInbox, file: Uint8Array): Promise<string> {
  const lines = Buffer.from(file).toString("base64").replace(/.{76}/g, "$&\r\n");
  const raw =
    `From: Joe <joe@example.com>\r\nTo: ${inbox.address}\r\nSubject: The plan\r\nMIME-Version: 1.0\r\n` +
    `Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee the file.\r\n--b\r\n` +
    "Content-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=plan.bin\r\n" +
    `Content-Transfer-Encoding: base64\r\n\r\n${lines}\r\n--b--\r\n`;
  expect(await world.deliver(raw, inbox.address)).toStartWith("250");
  return (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body.data[0].id;
}
