import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

const convert = (body: unknown) => world.api("/v1/markdown", { method: "POST", body: { body } });

describe("Converted Markdown", () => {
  test("is the HTML that a mail with it has", async () => {
    const markdown =
      "# Lunch\n\nShall we have **lunch**?\n\n| a | b |\n|---|---|\n| 1 | <b>2</b> |\n\n[x](javascript:alert(1))";
    const inbox = await world.inbox("ada");
    const sent = await world.api(`/v1/inboxes/${inbox.id}/send`, {
      method: "POST",
      headers: { "idempotency-key": "lunch" },
      body: { to: "joe@example.com", subject: "Lunch", body: markdown, bodyFormat: "markdown" },
    });
    const { body: message } = await world.api(`/v1/messages/${sent.body.messageId}`);
    const { status, body } = await convert(markdown);
    expect(status).toBe(200);
    expect(body.html).toContain("<strong>lunch</strong>");
    expect(body).toEqual({ html: message.bodyHtml });
  });

  test("is null if the mail would have only its text", async () => {
    expect((await convert("[](https://example.com)")).body).toEqual({ html: null });
  });

  test.each([
    ["is missing", undefined],
    ["is empty", ""],
    ["is longer than a body may be", "a".repeat(100_001)],
  ])("is refused if the text %s", async (_, text) => {
    const { status, body } = await convert(text);
    expect([status, body.errors[0].pointer]).toEqual([400, "#/body"]);
  });
});
