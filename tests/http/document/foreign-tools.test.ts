import { describe, expect, test } from "bun:test";
import { generatedClient, haveForeignTools, howToInstall, lintWith } from "../../support/foreign-tools.ts";
import { mailOf } from "../../support/mail.ts";
import { startReceiver } from "../../support/receiver.ts";
import { startWorld, type World } from "../../support/world.ts";

const areInstalled = haveForeignTools();
if (!areInstalled)
  console.log(`Skipped: linters and the generated client, whose packages are not here; ${howToInstall}`);

/** These are programs that take seconds where they have a core of their own. */
const longestMs = 180_000;

const documentOf = async (world: World) => (await world.fetch("/openapi.json", { apiKey: null })).json();

describe.skipIf(!areInstalled)("Foreign tools", () => {
  test.each([
    ["redocly", "operation-summary"],
    ["spectral", "operation-description"],
  ] as const)(
    "%s has nothing to say of the document",
    async (linter, rule) => {
      await using world = await startWorld();
      const document = await documentOf(world);
      const { code, said } = await lintWith(linter, document);
      expect([code, code === 0 ? "" : said]).toEqual([0, ""]);
      // And it would say something: here of an operation without words, in a document of one path, which is read sooner.
      const { get } = document.paths["/v1/inboxes"];
      delete get.description;
      delete get.summary;
      const wordless = await lintWith(linter, { ...document, paths: { "/v1/inboxes": { get } } });
      expect(wordless.code).not.toBe(0);
      expect(wordless.said).toContain(rule);
    },
    longestMs,
  );

  test(
    "a generated client compiles without a cast and makes the ten calls of the README",
    async () => {
      await using world = await startWorld();
      const receiver = await startReceiver();
      await using client = await generatedClient(await documentOf(world), "ten-calls.ts");
      expect(client.compiled).toEqual({ code: 0, said: "" });
      const { tenCalls } = await client.load();
      const told = await tenCalls({
        baseUrl: world.service.apiUrl.origin,
        apiKey: world.apiKey,
        webhookUrl: receiver.url,
        async receive(address: string) {
          await world.deliver(mailOf({ subject: "Hi", text: "Hello Ada" }), address);
          // The log shows nothing newer than the oldest transaction of the server.
          await world.api("/v1/events");
        },
      });
      await receiver.close();
      expect(told).toMatchObject({
        inbox: { address: "ada@inbox.localhost", externalId: "user-7" },
        messages: [{ direction: "inbound", subject: "Hi", fromAddr: "jane@example.com" }],
        sent: [{ status: "sent" }, { status: "sent" }],
        thread: { ok: true, isRead: true, messageCount: 2 },
        events: [{ event: "message.received", external_id: "user-7", message: { subject: "Hi" } }],
        refused: { code: "not_found", resource: "message" },
      });
      // That it compiles says something only if a wrong program does not.
      await using wrong = await generatedClient(withRequired(await documentOf(world), "limit"), "ten-calls.ts");
      expect(wrong.compiled.code).not.toBe(0);
      expect(wrong.compiled.said).toContain("error TS");
    },
    longestMs,
  );
});

/** The document as it once was: parameters that have a default, and yet must be given. */
function withRequired(document: { paths: Record<string, { get?: { parameters: Parameter[] } }> }, name: string) {
  for (const { get } of Object.values(document.paths)) {
    for (const parameter of get?.parameters ?? []) if (parameter.name === name) parameter.required = true;
  }
  return document;
}

interface Parameter {
  name: string;
  required: boolean;
}
