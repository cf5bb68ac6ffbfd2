import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import type { ReadInbox } from "../../../src/domain/receive/known-of-mails.ts";
import { markInboxDeleted, markInboxTotals } from "../../../src/store/account/inboxes.ts";
import { findKnownOfMails, insertMails } from "../../../src/store/mail/receiving.ts";
import { markInboxEmptied } from "../../../src/store/upkeep/pruning.ts";
import { lockInboxToEmpty, markMessagesRemoved } from "../../../src/store/upkeep/removal.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

const at = new Date("2026-03-21T10:00:00Z");
const thread = {
  id: "thr_1",
  inboxId: "ibx_1",
  subject: "Hello",
  isRead: false,
  messageCount: 1,
  createdAt: at,
  lastMessageAt: at,
  lastMessageId: "msg_1",
  lastSeq: 1,
  lastInboundSeq: 1,
  people: [],
  preview: "",
  hasAttachments: false,
  folder: "inbox" as const,
  labels: [],
  metadata: null,
  trashedAt: null,
};
const message = {
  accountId: "acc",
  inboxId: "ibx_1",
  threadId: "thr_1",
  directionSeq: 1,
  createdAt: at,
  body: 1,
  truncated: false,
  rfcMessageId: "1@example.com",
  messageIdHash: crypto.randomUUID(),
  contentHash: undefined,
  inReplyTo: undefined,
  automated: undefined,
  authentication: undefined,
  spam: undefined,
  referenceIds: undefined,
  envelopeFrom: "joe@example.com",
  fromAddr: "joe@example.com",
  fromName: undefined,
  replyTo: undefined,
  cc: [],
  toAddr: "jane@example.com",
  toAddrs: ["jane@example.com"],
  subject: "Hello",
  attachmentCount: 0,
  sourceId: "src_1",
  sizeBytes: 5,
};
let filed = 0;

test("every statement that updates an inbox raises its revision", async () => {
  const folder = join(import.meta.dir, "../../../src");
  const updates: string[] = [];
  for await (const path of new Bun.Glob("**/*.ts").scan(folder)) {
    const text = await Bun.file(join(folder, path)).text();
    for (const [update] of text.matchAll(/update inboxes (?:\w+ )?set[^`]*/g)) updates.push(`${path}: ${update}`);
  }
  expect(updates.length).toBeGreaterThan(3);
  expect(updates.filter((update) => !update.includes("revision = "))).toEqual([]);
});

for (const engine of enginesHere()) {
  describe(`Filing in an inbox as it was read, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    beforeEach(async () => {
      await query(under.db.api, sql`delete from inboxes`);
      await query(
        under.db.api,
        sql`insert into inboxes (id, account_id, username, created_at) values ('ibx_1', 'acc', 'jane', now())`,
      );
    });

    async function readInbox(): Promise<ReadInbox> {
      const asked = { inboxIds: ["ibx_1"], copies: [], named: [], notBefore: new Date(0) };
      const [inbox] = (await findKnownOfMails(under.db.mail, asked)).inboxes;
      if (inbox === undefined) throw new Error("no inbox");
      return inbox;
    }

    async function file(inbox: ReadInbox): Promise<ReadInbox[] | undefined> {
      const seq = inbox.messageCount + 1;
      const inboxes = [{ ...inbox, messageCount: seq, storageBytes: inbox.storageBytes + message.sizeBytes }];
      const none = { attachments: [], sources: [], correspondents: [], awaitedParents: [], quarantined: [] };
      const rows = {
        threads: [thread],
        messages: [{ ...message, id: `msg_${++filed}`, eventId: `evt_${filed}`, seq }],
      };
      const bodies = [{ text: "Hello", html: undefined }];
      return (await insertMails(under.db.mail, { ...none, ...rows, bodies, inboxes }))?.inboxes;
    }

    test("answers the inbox as it is behind it, and takes each state once", async () => {
      const read = await readInbox();
      const [left] = (await file(read)) ?? [];
      expect(left).toEqual(await readInbox());
      expect(left).toMatchObject({ messageCount: 1, storageBytes: message.sizeBytes, revision: read.revision + 1 });
      expect(await file(read)).toBeUndefined();
    });

    const writers: [string, (inbox: ReadInbox) => Promise<unknown>][] = [
      ["marks a thread as read", (inbox) => markInboxTotals(under.db.api, [inbox])],
      ["deletes the inbox", () => markInboxDeleted(under.db.api, { accountId: "acc" }, "ibx_1", new Date())],
      ["empties the inbox", () => markInboxEmptied(under.db.api, "ibx_1", new Date())],
      [
        "removes messages",
        async () => {
          await query(
            under.db.api,
            sql`insert into accounts (id, name, plan, created_at) values ('acc', 'acc', 'free', now())`,
          );
          const inbox = await lockInboxToEmpty(under.db.api, "ibx_1");
          if (inbox !== undefined) await markMessagesRemoved(under.db.api, inbox);
        },
      ],
    ];
    test.each(writers)(
      "is not written after another statement that %s, even if that changed no number",
      async (_, write) => {
        const read = await readInbox();
        await query(under.db.api, sql`delete from messages`);
        await write(read);
        expect(await file(read)).toBeUndefined();
        const [row] = await query(under.db.api, sql`select revision from inboxes`);
        expect(row).toEqual({ revision: read.revision + 1 });
      },
    );
  });
}
