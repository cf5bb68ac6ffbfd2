import { beforeAll, describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import type { Envelope, MailClient } from "../../../src/domain/receive/inbound-mail.ts";
import { insertUnparsedMail, listUnparsedMails, type UnparsedMail } from "../../../src/store/mail/unparsed-mails.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";
import { countRows } from "../../support/stored.ts";

const client: MailClient = {
  address: "2001:db8::1",
  network: "2001:db8::/64",
  heloName: "mail.example",
  secure: true,
  isProxy: false,
};

for (const engine of enginesHere()) {
  describe(`A mail that waits to be read, with the ${engine} database`, () => {
    const under = setUpEngine(engine);
    beforeAll(async () => {
      for (const [id, deletedAt] of [
        ["inb_ada", null],
        ["inb_bob", null],
        ["inb_gone", new Date(0)],
      ] as const) {
        await query(
          under.db.api,
          sql`insert into inboxes (id, account_id, username, created_at, deleted_at)
              values (${id}, 'acc', ${id.slice(4)}, now(), ${deletedAt})`,
        );
      }
    });

    const to = (...names: string[]) =>
      names.map((name) => ({ inboxId: `inb_${name}`, toAddr: `"${name}\\'é"+x@inbox.localhost` }));
    const mailWith = (sourceId: string, envelope: Envelope): UnparsedMail => ({
      sourceId,
      receivedAt: new Date("2026-03-21T10:05:00.123Z"),
      envelope,
      sizeBytes: 25 << 20,
      contentHash: "00000000-0000-4000-8000-000000000001",
    });

    const envelopes: [what: string, envelope: Envelope][] = [
      ["of a client over TLS", { from: "jane@example.com", recipients: to("ada", "bob"), client }],
      ["of a bounce", { from: "", recipients: to("ada"), client: { ...client, heloName: "", secure: false } }],
      [
        "of our own, which no client brought",
        { from: "ada@inbox.localhost", recipients: to("bob"), client: undefined },
      ],
      ["of which one inbox is gone", { from: "jane@example.com", recipients: to("gone", "ada"), client }],
    ];
    test.each(envelopes)("keeps its envelope whole: %s", async (what, envelope) => {
      const mail = mailWith(`src_${what}`, envelope);
      expect(await insertUnparsedMail(under.db.mail, mail, "network")).toBe(true);
      expect(await listUnparsedMails(under.db.work, [mail.sourceId])).toEqual([mail]);
    });

    test("is not kept where no inbox of it lives", async () => {
      const before = await countRows(under.db.api, "unparsed_mails");
      const mail = mailWith("src_none", { from: "jane@example.com", recipients: to("gone", "nobody"), client });
      expect(await insertUnparsedMail(under.db.mail, mail, "network")).toBe(false);
      expect(await countRows(under.db.api, "unparsed_mails")).toBe(before);
      expect(await query(under.db.api, sql`select from outbox where subject_id = 'src_none'`)).toEqual([]);
    });
  });
}
