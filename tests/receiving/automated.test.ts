import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import { oneWorldOn } from "../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`the field "automated" with the ${engine} database`, () => {
    const world = oneWorldOn(engine);
    let inbox: WorldInbox;

    async function newest(of = inbox) {
      const { body } = await world().api(`/v1/inboxes/${of.id}/messages?limit=1&direction=inbound`);
      return body.data[0];
    }

    test("stands after the other fields of a message at every door", async () => {
      inbox = await world().inbox();
      await world().deliver(mailOf({ headers: ["Auto-Submitted: auto-replied"], subject: "needle" }), inbox.address);
      const automated = { kind: "auto_reply", reasons: ["auto-submitted"] };
      const message = await newest();
      const names = Object.keys(message);
      expect([names[names.indexOf("truncated") + 1], message.automated]).toEqual(["automated", automated]);
      const paths = [
        `/v1/messages/${message.id}`,
        `/v1/threads/${message.threadId}/messages`,
        `/v1/inboxes/${inbox.id}/messages?subject=needle`,
      ];
      for (const path of paths) {
        const { body } = await world().api(path);
        expect((body.data?.[0] ?? body).automated).toEqual(automated);
      }
    });

    test("is null for a person's mail and for outbound mail", async () => {
      inbox = await world().inbox();
      await world().deliver(
        mailOf({ headers: ["Auto-Submitted: no", "X-Auto-Response-Suppress: None"] }),
        inbox.address,
      );
      expect((await newest()).automated).toBeNull();
      const { body } = await send(world(), inbox.id, { autoSubmitted: "auto-generated" });
      expect((await world().api(`/v1/messages/${body.messageId}`)).body.automated).toBeNull();
    });

    test("also depends on the envelope, in each inbox of the mail", async () => {
      const inboxes = [await world().inbox(), await world().inbox()];
      const bounce = mailOf({ from: "MAILER-DAEMON@example.com", subject: "failure notice" });
      await world().deliver(
        bounce,
        inboxes.map(({ address }) => address),
        "",
      );
      for (const one of inboxes) {
        expect((await newest(one)).automated).toEqual({
          kind: "delivery_report",
          reasons: ["from", "null-reverse-path"],
        });
      }
    });

    test("is set for a mail with a non-ASCII header, and for a report", async () => {
      inbox = await world().inbox();
      const headers = ["X-Name: Jürgen", "LIST-ID:\r\n <list.example.com>"];
      await world().deliver(mailOf({ headers }), inbox.address);
      expect((await newest()).automated).toEqual({ kind: "list", reasons: ["list-id"] });
      const report = 'Content-Type: multipart/report; report-type="Disposition-Notification"; boundary=b';
      await world().deliver(mailOf({ headers: [report], text: "--b\r\n\r\nHello\r\n--b--\r\n" }), inbox.address);
      expect((await newest()).automated).toEqual({ kind: "disposition_report", reasons: ["report-type"] });
    });

    test.each([
      ["auto-generated", "notification"],
      ["auto-replied", "auto_reply"],
    ])("is what our own mail to ourselves declares: %s", async (autoSubmitted, kind) => {
      inbox = await world().inbox();
      const from = await world().inbox();
      await send(world(), from.id, { to: inbox.address, autoSubmitted });
      const message = await untilAnswered(() => newest());
      expect(message.automated).toEqual({ kind, reasons: ["auto-submitted", "x-auto-response-suppress"] });
      const raw = await (await world().fetch(`/v1/messages/${message.id}/raw`)).text();
      expect(raw).toContain(`Auto-Submitted: ${autoSubmitted}\r\nX-Auto-Response-Suppress: OOF, AutoReply\r\n`);
    });

    test("the parent that a mail names is stored with it", async () => {
      const parentOf = async (fields: Parameters<typeof mailOf>[0]) => {
        inbox = await world().inbox();
        await world().deliver(mailOf(fields), inbox.address);
        const [row] = await query<{ parent: string | null }>(
          world().service.deps.db.api,
          sql`select in_reply_to as parent from messages where inbox_id = ${inbox.id}`,
        );
        return row?.parent;
      };
      expect(await parentOf({ inReplyTo: "a@b", references: ["c@d", "e@f"] })).toBe("a@b");
      expect(await parentOf({ references: ["c@d", "e@f"] })).toBe("e@f");
      expect(await parentOf({})).toBeNull();
      expect(await parentOf({ inReplyTo: `${"a".repeat(996)}@b` })).toHaveLength(998);
      expect(await parentOf({ inReplyTo: `${"a".repeat(997)}@b` })).toBeNull();
    });
  });
}
