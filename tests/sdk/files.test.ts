import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { OutgoingFile } from "../../sdk/typescript/src/files.ts";
import { Inboxd } from "../../sdk/typescript/src/inboxd.ts";
import { startWorld, type World } from "../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** A client that notes the path of each request. */
function noting(fetchHere: typeof fetch = fetch): { inboxd: Inboxd; paths: string[] } {
  const paths: string[] = [];
  const inboxd = new Inboxd({
    baseUrl: world.service.apiUrl,
    apiKey: world.apiKey,
    fetch(url, init) {
      paths.push(new URL(url).pathname.replace(/inb_\w+/, "ID"));
      return fetchHere(url, init);
    },
  });
  return { inboxd, paths };
}

const text = "total,42\n";
const email = { to: "bob@example.com", subject: "Files", body: "See the files" };
const limit = 512 * 1024;
/** Every byte value, also where a group of three bytes is cut. */
const bytesOf = (length: number) => Uint8Array.from({ length }, (_, index) => (index * 7 + (index >> 8)) % 256);

describe("A file of a send may be", () => {
  const file = new File([text], "total.csv", { type: "text/csv;charset=utf-8" });
  test.each<[string, OutgoingFile, filename: string, contentType: string]>([
    ["bytes", { filename: "a.csv", content: new TextEncoder().encode(text) }, "a.csv", "text/csv"],
    [
      "a Blob, which gives its type",
      { filename: "a", content: new Blob([text], { type: "text/css" }) },
      "a",
      "text/css",
    ],
    ["a File, which gives its name too", { content: file }, "total.csv", "text/csv"],
    [
      "a File under another name and type",
      { content: file, filename: "b.txt", contentType: "text/plain" },
      "b.txt",
      "text/plain",
    ],
    ["base64 as a string", { filename: "a.csv", content: btoa(text) }, "a.csv", "text/csv"],
  ])("%s", async (_, outgoing, filename, contentType) => {
    const { inboxd, paths } = noting();
    const { id } = await inboxd.inboxes.create();
    const { messageId } = await inboxd.messages.send(id, { ...email, attachments: [outgoing] });
    expect((await inboxd.messages.get(messageId)).attachments).toMatchObject([{ filename, contentType }]);
    expect(new TextDecoder().decode(await inboxd.attachments.get(messageId, filename))).toBe(text);
    expect(paths.slice(0, 2)).toEqual(["/v1/inboxes", "/v1/inboxes/ID/send"]);
  });
});

test.each([
  ["512 KiB together go in the request itself", [limit - 100, 100], []],
  ["one byte more, and each is uploaded first", [limit - 100, 101], ["/v1/uploads", "/v1/uploads"]],
])("Files of %s", async (_, sizes, uploads) => {
  const { inboxd, paths } = noting();
  const { id } = await inboxd.inboxes.create();
  const files = sizes.map((size, index) => ({ filename: `${index}.bin`, content: bytesOf(size) }));
  const { messageId } = await inboxd.messages.send(id, { ...email, attachments: files });
  expect(paths.slice(1)).toEqual([...uploads, "/v1/inboxes/ID/send"]);
  for (const { filename, content } of files) {
    expect((await inboxd.attachments.get(messageId, filename)).toHex()).toBe(content.toHex());
  }
});

test("An upload whose response was lost is made again, and the mail is sent once", async () => {
  let lost = 0;
  const losing = (async (url: string | URL, init: RequestInit) => {
    const response = await fetch(url, init);
    if (!String(url).includes("/v1/uploads") || lost > 0) return response;
    lost += 1;
    throw new TypeError("the connection was cut");
  }) as typeof fetch;
  const { inboxd, paths } = noting(losing);
  const { id } = await inboxd.inboxes.create();
  const send = () =>
    inboxd.messages.send(
      id,
      { ...email, attachments: [{ filename: "a.bin", content: bytesOf(limit + 1) }] },
      { idempotencyKey: "files-once" },
    );
  const first = await send();
  expect(paths.slice(1)).toEqual(["/v1/uploads", "/v1/uploads", "/v1/inboxes/ID/send"]);
  // The second send uploads the file under another id, and is the same send all the same.
  const second = await send();
  expect([second.messageId, second.replayed]).toEqual([first.messageId, true]);
});
