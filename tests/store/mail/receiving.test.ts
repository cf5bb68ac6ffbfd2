import { beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { type Db, query } from "../../../src/database/db.ts";
import type { FiledMails } from "../../../src/domain/receive/filed-mails.ts";
import type { ReadInbox } from "../../../src/domain/receive/known-of-mails.ts";
import { markInboxDeleted, markInboxTotals } from "../../../src/store/account/inboxes.ts";
import { allFields, columnNames } from "../../../src/store/columns.ts";
import { findKnownOfMails, insertMails } from "../../../src/store/mail/receiving.ts";
import { messages } from "../../../src/store/schema.ts";
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
  replyTos: undefined,
  cc: [],
  toAddr: "jane@example.com",
  toAddrs: ["jane@example.com"],
  subject: "Hello",
  attachmentCount: 0,
  sourceId: "src_1",
  sizeBytes: 5,
};
const asked = { inboxIds: ["ibx_1"], copies: [], named: [], notBefore: new Date(0) };
let filed = 0;

/** The rows of the next mail of an inbox. */
function nextMail(inbox: ReadInbox): FiledMails {
  const seq = inbox.messageCount + 1;
  return {
    threads: [thread],
    messages: [{ ...message, id: `msg_${++filed}`, eventId: `evt_${filed}`, seq }],
    bodies: [{ text: "Hello", html: undefined }],
    attachments: [],
    sources: [],
    correspondents: [],
    awaitedParents: [],
    threadBlocks: [],
    quarantined: [],
    inboxes: [{ ...inbox, messageCount: seq, storageBytes: inbox.storageBytes + message.sizeBytes }],
  };
}

/** The indexes by which the plans read a table. Partitions and their indexes count as those of their table. */
async function indexesOf(db: Db, plan: unknown, table: string): Promise<string[]> {
  const parts = await query<{ name: string; whole: string }>(
    db,
    sql`select inhrelid::regclass::text as name, inhparent::regclass::text as whole from pg_inherits`,
  );
  const wholes = new Map(parts.map(({ name, whole }) => [name, whole]));
  const wholeOf = (name: string) => wholes.get(name) ?? name;
  const found = new Set<string>();
  JSON.stringify(plan, (_, node) => {
    const index = node?.["Index Name"];
    if (index !== undefined && wholeOf(node["Relation Name"]) === table) found.add(wholeOf(index));
    return node;
  });
  return [...found];
}

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
      const [inbox] = (await findKnownOfMails(under.db.mail, asked)).inboxes;
      if (inbox === undefined) throw new Error("no inbox");
      return inbox;
    }

    async function file(inbox: ReadInbox): Promise<ReadInbox[] | undefined> {
      return (await insertMails(under.db.mail, nextMail(inbox)))?.inboxes;
    }

    test("answers the inbox as it is behind it, and takes each state once", async () => {
      const read = await readInbox();
      const [left] = (await file(read)) ?? [];
      expect(left).toEqual(await readInbox());
      expect(left).toMatchObject({ messageCount: 1, storageBytes: message.sizeBytes, revision: read.revision + 1 });
      expect(await file(read)).toBeUndefined();
    });

    // The embedded engine may scan small tables, and makes its plans anew as they grow.
    test.skipIf(engine === "embedded")(
      "finds inboxes and Message-IDs by their keys, also by a plan for few",
      async () => {
        await query(under.db.api, sql`truncate messages`);
        const [inbox] = (await file(await readInbox())) ?? [];
        if (inbox === undefined) throw new Error("Cannot file a mail");
        await under.db.api.script("analyze inboxes; analyze messages");
        // So many that the index of Message-IDs has a level more than the other indexes of an inbox.
        const copied = columnNames(
          messages,
          allFields(messages).filter((field) => field !== "id" && field !== "messageIdHash"),
        );
        await query(
          under.db.api,
          sql`insert into messages (id, message_id_hash, ${copied}) select 'msg_copy_' || n, gen_random_uuid(), ${copied}
            from messages, generate_series(1, 300) n`,
        );
        const plans: unknown[] = [];
        const explaining: Db = {
          ...under.db.mail,
          async run(text, values) {
            plans.push(await under.db.mail.run(`explain (format json) ${text}`, values));
            return [];
          },
        };
        await insertMails(explaining, nextMail(inbox), { isGuess: true });
        await findKnownOfMails(explaining, asked);
        expect(plans.length).toBe(2);
        expect(await indexesOf(under.db.api, plans, "inboxes")).toEqual(["inboxes_pkey"]);
        expect(await indexesOf(under.db.api, plans, "messages")).toEqual(["messages_message_id"]);
      },
    );

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
