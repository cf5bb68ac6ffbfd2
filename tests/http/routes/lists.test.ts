import { expect, test } from "bun:test";
import { commandLine } from "../../../src/domain/access/actor.ts";
import { createOperator } from "../../../src/flows/account/operators.ts";
import { newGrant } from "../../support/connecting.ts";
import { enginesHere } from "../../support/engines.ts";
import { mailOf } from "../../support/mail.ts";
import { dereferenced } from "../../support/openapi.ts";
import { answer, startReceiver } from "../../support/receiver.ts";
import { quarantinedMail } from "../../support/ruled.ts";
import { type DocumentedSchema, mismatches } from "../../support/schema-check.ts";
import { newDraft, send } from "../../support/sends.ts";
import { worldsOn } from "../../support/world-on.ts";

const [engine = "embedded"] = enginesHere();
const startWorld = worldsOn(engine);

interface Documented {
  paths: Record<string, { get?: Operation }>;
}

interface Operation {
  parameters: { name: string }[];
  responses: Record<string, { content: Record<string, { schema: DocumentedSchema }> }>;
}

test("Every list has what is documented of it, field by field, and nothing else", async () => {
  await using world = await startWorld();
  const inbox = await world.inbox("ada");
  // What it refuses waits in the outbox.
  const receiver = await startReceiver({ behaviour: answer(500) });
  await world.api("/v1/webhook", { method: "PUT", body: { url: receiver.url } });
  const headers = ["Reply-To: team@example.com", "Cc: joe@example.com"];
  await world.deliver(mailOf({ subject: "Your order", headers }), inbox.address);
  await world.deliver(withAttachment, inbox.address);
  await world.api("/v1/suppressions", { method: "POST", body: { address: "eve@example.net" } });
  const rule = { direction: "inbound", action: "block", pattern: "spam.example" };
  await world.api("/v1/rules", { method: "POST", body: rule });
  await send(world, inbox.id, { to: "jane@example.com" });
  await world.api("/v1/domains", { method: "POST", body: { domain: "shop.test" } });
  await world.api(`/v1/inboxes/${inbox.id}/api-keys`, { method: "POST", body: {} });
  await newDraft(world, inbox.id);
  await newGrant(world);
  await quarantinedMail(world, inbox);

  const operator = await createOperator(world.service.deps, commandLine, { name: "ops", expiresAt: undefined });
  const shared = { method: "POST", body: { domain: "shared.test" }, apiKey: operator.key };
  expect((await world.api("/v1/admin/domains", shared)).status).toBe(201);

  const document: Documented = dereferenced(await (await world.fetch("/openapi.json")).json());
  const lists = Object.entries(document.paths).flatMap(([path, { get }]) =>
    // The pieces of a text are no list.
    get?.parameters.some(({ name }) => name === "limit") && !path.endsWith("/text") ? [[path, get] as const] : [],
  );
  const threads = (await world.api(`/v1/inboxes/${inbox.id}/threads`)).body.data;
  const events = (await world.api("/v1/events")).body.data;
  const idOf = [
    ["/v1/threads", threads[0].id],
    ["/v1/events", events[0].event_id],
    ["/v1/webhooks", (await world.api("/v1/webhooks")).body.data[0].id],
  ] as const;
  await receiver.request(1);
  while ((await world.api(`/v1/events/${events[0].event_id}/deliveries`)).body.data.length === 0);
  expect(lists.map(([path]) => path).sort()).toEqual([
    "/v1/admin/accounts",
    "/v1/admin/audit",
    "/v1/admin/domains",
    "/v1/audit",
    "/v1/domains",
    "/v1/drafts",
    "/v1/events",
    "/v1/events/{id}/deliveries",
    "/v1/grants",
    "/v1/inboxes",
    "/v1/inboxes/{id}/api-keys",
    "/v1/inboxes/{id}/messages",
    "/v1/inboxes/{id}/threads",
    "/v1/keys",
    "/v1/messages",
    "/v1/outbox",
    "/v1/quarantine",
    "/v1/rules",
    "/v1/suppressions",
    "/v1/threads/{id}/messages",
    "/v1/webhooks/{id}/deliveries",
  ]);
  for (const [path, { responses }] of lists) {
    const id = idOf.find(([start]) => path.startsWith(start))?.[1] ?? inbox.id;
    const apiKey = path.startsWith("/v1/admin/") ? operator.key : world.apiKey;
    const { body, status } = await world.api(path.replace("{id}", id), { apiKey });
    expect([path, status, body.data.length > 0]).toEqual([path, 200, true]);
    const schema = responses["200"]?.content["application/json"]?.schema ?? {};
    expect([path, mismatches(schema, body)]).toEqual([path, []]);
    const [first] = body.data;
    expect(mismatches(schema, { ...body, data: [{ ...first, secret: "canary" }] })).toEqual([
      "/data/0/secret is not documented",
    ]);
  }
  await receiver.close();
});

const withAttachment = [
  "From: Jane <jane@example.com>",
  "Subject: A file",
  "Message-ID: <file@example.com>",
  "MIME-Version: 1.0",
  "Content-Type: multipart/mixed; boundary=b",
  "",
  "--b",
  "",
  "Here it is",
  "--b",
  "Content-Type: application/pdf; name=a.pdf",
  "Content-Disposition: attachment; filename=a.pdf",
  "",
  "%PDF",
  "--b--",
  "",
].join("\r\n");
