import { describe, expect, test } from "bun:test";
import { takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { mailOf } from "../../../support/mail.ts";
import { send } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

const fields = ["codes", "links", "extractedText", "extractedHtml"];

for (const engine of enginesHere()) {
  describe(`What a message says to who has to act on it, on ${engine}`, () => {
    const world = oneWorldOn(engine);

    async function mailed(bodyText: string, bodyHtml?: string) {
      const inbox = await world().inbox();
      await takeIn(world().service.deps, inbox, [{ subject: "Re: Welcome", bodyText, bodyHtml }]);
      const { body } = await world().api(`/v1/inboxes/${inbox.id}/messages`);
      return { inbox, listed: body.data[0] };
    }

    test("stands last in the message by itself", async () => {
      const text =
        "Your verification code is 482913.\n\nOn Mon, 3 Mar 2025 at 10:00, Ann <ann@example.com> wrote:\n> Your code is 111111\n";
      const html =
        '<p>Your verification code is <b>482913</b></p><a href="https://example.com/x?a=1&amp;b=2">Verify your address</a>';
      const { listed } = await mailed(text, html);
      const { body } = await world().api(`/v1/messages/${listed.id}`);
      expect(Object.keys(body).slice(-4)).toEqual(fields);
      const { codes, links, extractedText, extractedHtml, ...others } = body;
      expect(others).toEqual(listed);
      expect(codes.map(({ code }: { code: string }) => code)).toEqual(["482913"]);
      expect(links).toEqual([
        { url: "https://example.com/x?a=1&b=2", text: "Verify your address", kind: "verify", misleading: false },
      ]);
      expect([extractedText.trim(), extractedHtml]).toEqual(["Your verification code is 482913.", html]);
    });

    test("is null for HTML that did not come", async () => {
      const { listed } = await mailed("Hello");
      const { body } = await world().api(`/v1/messages/${listed.id}`);
      expect(body).toMatchObject({ codes: [], links: [], extractedText: "Hello", extractedHtml: null });
    });

    test("stands in a list where it is asked for, and is the same there", async () => {
      const { inbox, listed } = await mailed("Log in at https://example.com/login");
      const { body: message } = await world().api(`/v1/messages/${listed.id}`);
      const ofInbox = await world().api(`/v1/inboxes/${inbox.id}/messages?include=extracted`);
      const ofThread = await world().api(`/v1/threads/${listed.threadId}/messages?include=extracted`);
      expect([ofInbox.body.data, ofThread.body.data]).toEqual([[message], [message]]);
      expect(Object.keys(ofInbox.body.data[0])).toEqual(Object.keys(message));
      const plain = await world().api(`/v1/threads/${listed.threadId}/messages`);
      expect(plain.body.data).toEqual([listed]);
      expect(fields.filter((field) => field in listed)).toEqual([]);
    });

    test("does not change where a list goes on", async () => {
      const inbox = await world().inbox();
      await takeIn(world().service.deps, inbox, [{ subject: "one" }, { subject: "two" }]);
      const first = await world().api(`/v1/inboxes/${inbox.id}/messages?limit=1&include=extracted`);
      const next = await world().api(`/v1/inboxes/${inbox.id}/messages?limit=1&cursor=${first.body.nextCursor}`);
      expect(next.body.data).toHaveLength(1);
    });

    test.each(["nothing", "extracted,html", "Extracted"])("is refused by the name of %s", async (include) => {
      const { inbox, listed } = await mailed("Hello");
      for (const path of [`/v1/inboxes/${inbox.id}/messages`, `/v1/threads/${listed.threadId}/messages`]) {
        const { status, body } = await world().api(`${path}?include=${include}`);
        expect([status, body.code, body.errors?.[0]?.parameter]).toEqual([400, "invalid_query", "include"]);
      }
    });

    test("is no code and no link of what we sent", async () => {
      const inbox = await world().inbox();
      const sent = await send(world(), inbox.id, { body: "Your code is 482913: https://example.com/" });
      const { body } = await world().api(`/v1/messages/${sent.body.messageId}`);
      expect(body).toMatchObject({ direction: "outbound", codes: [], links: [] });
      expect(body.extractedText.trim()).toBe("Your code is 482913: https://example.com/");
    });

    test("leaves out of a mail of HTML alone what nobody sees", async () => {
      const inbox = await world().inbox();
      const html =
        '<div style="display:none">Your code is 111111 <a href="https://example.com/h">x</a></div><p>Your login code is 482913</p>';
      await world().deliver(mailOf({ headers: ["Content-Type: text/html"], text: html }), inbox.address);
      const { body } = await world().api(`/v1/inboxes/${inbox.id}/messages?include=extracted`);
      const [{ codes, links, bodyText }] = body.data;
      expect([codes.map(({ code }: { code: string }) => code), links, bodyText.trim()]).toEqual([
        ["482913"],
        [],
        "Your login code is 482913",
      ]);
    });
  });
}
