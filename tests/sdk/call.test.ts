import { describe, expect, test } from "bun:test";
import { Inboxd } from "../../sdk/typescript/src/inboxd.ts";
import type { PathOf } from "../../sdk/typescript/src/types.ts";
import { failureOf } from "../support/failure.ts";
import { startWorld } from "../support/world.ts";

const broken = new Uint8Array([0x7b, 0xe9, 0x0d, 0x0a]);

/** What others write, by its name and the type that they give it. */
const files: [name: string, type: string, bytes: Uint8Array<ArrayBuffer>][] = [
  ["data.json", "application/json", new TextEncoder().encode('{ "a": 1.0 }\n')],
  ["broken.json", "application/json", broken],
  ["note.txt", "text/plain", broken],
  ["data.csv", "text/csv; charset=iso-8859-1", broken],
  ["feed.json", "application/feed+json", broken],
  ["plan.pdf", "application/pdf", broken],
];

const partOf = ([name, type, bytes]: (typeof files)[number]) =>
  [`--b\r\nContent-Type: ${type}`, `Content-Disposition: attachment; filename="${name}"`]
    .concat("Content-Transfer-Encoding: base64", "", bytes.toBase64(), "")
    .join("\r\n");

describe("A file is given as its bytes, whatever its type", () => {
  test("by attachments.get, and by the operation itself", async () => {
    await using world = await startWorld();
    const inboxd = new Inboxd({ baseUrl: world.service.apiUrl, apiKey: world.apiKey });
    const { id, address } = await world.inbox("ada");
    const head = 'From: jane@example.com\r\nContent-Type: multipart/mixed; boundary="b"\r\n\r\n';
    await world.deliver(`${head}${files.map(partOf).join("")}--b--\r\n`, address);
    const { message } = await inboxd.messages.wait(id, { timeout: 10 });
    if (message === null) throw new Error("no mail came");
    for (const [filename, , bytes] of files) {
      const path = { message_id: message.id, filename };
      const asked = await inboxd.request("GET", "/v1/attachments/{message_id}/{filename}", { path });
      expect([filename, asked]).toEqual([filename, bytes]);
      expect([filename, await inboxd.attachments.get(message.id, filename)]).toEqual([filename, bytes]);
    }
    expect(await failureOf(inboxd.attachments.get(message.id, "none.json"))).toMatchObject({
      status: 404,
      code: "not_found",
    });
  });

  test("also for a mail, and for a relay's notice in JSON", async () => {
    const fetch = async () => Response.json({ kind: "bounced" });
    const inboxd = new Inboxd({ baseUrl: "http://mail.example", apiKey: "ibx_1", fetch });
    const bytes = new TextEncoder().encode('{"kind":"bounced"}');
    const path = { id: "msg_1", report_id: "rep_1" };
    expect(await inboxd.messages.raw("msg_1")).toEqual(bytes);
    expect(await inboxd.request("GET", "/v1/messages/{id}/reports/{report_id}/raw", { path })).toEqual(bytes);
    expect(await inboxd.inboxes.get("inb_1")).toEqual({ kind: "bounced" } as never);
  });
});

test("the content of each operation has the type that the document gives", async () => {
  await using world = await startWorld();
  const { body: document } = await world.api("/openapi.json");
  // JSON, so that nothing but the path decides what is read as a file or a text.
  const fetch = async () => Response.json({ a: 1 });
  const inboxd = new Inboxd({ baseUrl: "http://mail.example", apiKey: "ibx_1", fetch });
  const kinds = new Set<string>();
  for (const [path, { get }] of Object.entries<{ get?: { responses: Responses } }>(document.paths)) {
    const types = Object.keys(get?.responses[200]?.content ?? {});
    if (get === undefined || types.includes("text/event-stream")) continue;
    const ids = Object.fromEntries(Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => [name, "ID"]));
    const content = await inboxd.request("GET", path as PathOf<"GET">, { path: ids } as never);
    kinds.add(kindOfTypes(types));
    expect([path, kindOf(content)]).toEqual([path, kindOfTypes(types)]);
  }
  expect([...kinds].toSorted()).toEqual(["bytes", "json", "stream", "text"]);
});

type Responses = Record<string, { content?: Record<string, unknown> }>;

function kindOfTypes(types: readonly string[]): string {
  if (types.includes("application/x-ndjson")) return "stream";
  if (types.some((type) => type !== "application/json" && !type.startsWith("text/"))) return "bytes";
  return types.includes("application/json") ? "json" : "text";
}

function kindOf(content: unknown): string {
  if (content instanceof ReadableStream) return "stream";
  if (content instanceof Uint8Array) return "bytes";
  return typeof content === "string" ? "text" : "json";
}

test("exports are streams, also that of an account by its operator", async () => {
  const fetch = async () => new Response('{"line":1}\n', { headers: { "content-type": "application/x-ndjson" } });
  const inboxd = new Inboxd({ baseUrl: "http://mail.example", apiKey: "ibx_1", fetch });
  for (const stream of [await inboxd.inboxes.export("inb_1"), await inboxd.admin.exportAccount("acc_1")]) {
    expect(await new Response(stream).text()).toBe('{"line":1}\n');
  }
});

test("a creation has an idempotency key, also if the option is undefined", async () => {
  const keys: (string | null)[] = [];
  const fetch = async (_: unknown, { headers }: RequestInit) => {
    keys.push(new Headers(headers).get("idempotency-key"));
    return Response.json({ id: "inb_1" });
  };
  const inboxd = new Inboxd({ baseUrl: "http://mail.example", apiKey: "ibx_1", fetch });
  await inboxd.inboxes.create();
  await inboxd.inboxes.create({ username: "ada" }, { idempotencyKey: undefined });
  await inboxd.inboxes.create({}, { idempotencyKey: "mine" });
  expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), expect.stringMatching(/^[0-9a-f]{32}$/), "mine"]);
  expect(keys[0]).not.toBe(keys[1]);
});

test("a page is answered as text", async () => {
  await using world = await startWorld();
  const inboxd = new Inboxd({ baseUrl: world.service.apiUrl, apiKey: world.apiKey });
  expect(await inboxd.request("GET", "/docs", {})).toStartWith("<!doctype html>");
});

test("a stream is no operation of `request`", () => {
  const isAsked: "/v1/events/stream" extends PathOf<"GET"> ? true : false = false;
  expect(isAsked).toBe(false);
});
