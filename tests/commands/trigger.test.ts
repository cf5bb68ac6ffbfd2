import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { invoicePdf } from "../../src/commands/trigger/invoice-pdf.ts";
import { makeDatabase } from "../support/database.ts";
import { type RunningInboxd, runInboxd, startInboxd } from "../support/inboxd.ts";
import { untilAnswered } from "../support/until.ts";

/** A service, and the commands of its operator beside it. */
const directory = mkdtempSync(join(tmpdir(), "ibx-trigger-"));
const server = process.env.TEST_DATABASE_URL;
const database = server ? await makeDatabase(server) : undefined;
let inboxd: RunningInboxd;
beforeAll(async () => {
  inboxd = await startInboxd({ cwd: directory, env: { DATABASE_URL: database?.url } });
}, 60_000);
afterAll(async () => {
  inboxd.signal("SIGKILL");
  await inboxd.exited;
  await database?.drop();
  rmSync(directory, { recursive: true });
});

const client = () => ({
  INBOXD_URL: new URL(inboxd.api).origin,
  INBOXD_API_KEY: inboxd.apiKey,
  INBOXD_SMTP: `${inboxd.smtpPort}`,
});
const run = (...words: string[]) =>
  runInboxd(["trigger", ...words], { cwd: directory, env: { DATABASE_URL: database?.url, ...client() } });
const get = async (path: string) => (await inboxd.request("GET", path)).json();

async function madeInbox(username: string): Promise<string> {
  return (await (await inboxd.request("POST", "/v1/inboxes", { username })).json()).id;
}

/** Sends a mail and waits until it is out. */
async function sent(inbox: string, to: string): Promise<{ messageId: string; threadId: string }> {
  const words = ["send", "--from", inbox, "--to", to, "--subject", "Lunch", "--body", "Shall we?", "--json"];
  const { stdout } = await runInboxd(words, { env: client() });
  const made = JSON.parse(stdout);
  expect(made.status).toBe("sent");
  return made;
}

/** The only message that came in. */
async function received(inboxId: string) {
  const { data } = await get(`/v1/inboxes/${inboxId}/messages?direction=inbound`);
  expect(data).toHaveLength(1);
  return get(`/v1/messages/${data[0].id}`);
}

test("a code comes in with its link, and the service finds both", async () => {
  const id = await madeInbox("coded");
  const { code, stdout, stderr } = await run("code", "coded", "--json");
  expect([code, stderr]).toEqual([0, ""]);
  const made = JSON.parse(stdout);
  expect(made.code).toMatch(/^[1-9]\d{5}$/);
  expect(made.answer).toStartWith("250 ");
  const message = await received(id);
  expect(message).toMatchObject({ fromName: "Acme", subject: made.subject, truncated: false });
  expect(message.codes[0].code).toBe(made.code);
  expect(message.links[0]).toMatchObject({ url: made.link, misleading: false });
  expect(message.links[0].kind).not.toBeNull();
  expect(message.automated).not.toBeNull();
  // Each is another mail.
  expect(JSON.parse((await run("code", "coded", "--json")).stdout).code).not.toBe(made.code);
});

test("an invoice comes in as a PDF", async () => {
  const id = await madeInbox("billed");
  const made = JSON.parse((await run("invoice", "billed@inbox.localhost", "--json")).stdout);
  const { attachments, bodyText } = await received(id);
  expect(attachments).toEqual([expect.objectContaining({ filename: made.file, contentType: "application/pdf" })]);
  expect(bodyText).toContain("200.00 EUR");
  const pdf = await (await fetch(attachments[0].url)).text();
  expect(pdf).toStartWith("%PDF-1.4\n");
  expect(pdf).toContain(`(${made.subject}) Tj`);
});

test("a reply answers the newest sent mail in its thread, and without one Jane asks", async () => {
  const id = await madeInbox("answered");
  expect((await run("reply", "answered")).stdout).toMatch(/^from +jane@example\.com$/m);
  expect((await received(id)).inReplyTo).toBeUndefined();
  await sent("answered", "eve@example.com");
  const { messageId, threadId } = await sent("answered", "bob@example.com");
  const made = JSON.parse((await run("reply", id, "--json")).stdout);
  expect(made).toMatchObject({ from: "bob@example.com", subject: "Re: Lunch", answers: messageId });
  const { data } = await get(`/v1/threads/${threadId}/messages?include=extracted`);
  expect(data).toHaveLength(2);
  expect(data[1]).toMatchObject({ direction: "inbound", fromAddr: "bob@example.com" });
  expect(data[1].extractedText).not.toContain("Shall we?");
  expect(data[1].bodyText).toContain("> Shall we?");
});

describe("a bounce", () => {
  const stateOf = (messageId: string) =>
    untilAnswered(async () => (await get(`/v1/messages/${messageId}`)).delivery ?? undefined);

  test("comes to the return path of the newest sent mail, whose recipient is then suppressed", async () => {
    const id = await madeInbox("bounced");
    expect(await run("bounce", "bounced")).toMatchObject({ code: 1, stderr: expect.stringContaining("no mail") });
    const { messageId } = await sent("bounced", "gone@example.com");
    const { code, stdout, stderr } = await run("bounce", "bounced", "--json");
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      message: messageId,
      recipient: "gone@example.com",
      to: expect.stringMatching(/^bounce\+\w{26}-\w{12}@inbox\.localhost$/),
    });
    const delivery = await stateOf(messageId);
    expect(delivery).toMatchObject({ state: "bounced", type: "hard", source: "dsn", proof: "return_path" });
    const { data } = await get("/v1/suppressions");
    expect(data.map(({ address }: { address: string }) => address)).toContain("gone@example.com");
    expect((await get(`/v1/inboxes/${id}/messages?direction=inbound`)).data).toEqual([]);
  });

  test("of a distant service comes to the inbox, and the command says so", async () => {
    await madeInbox("distant");
    const { messageId } = await sent("distant", "far@example.com");
    const elsewhere = mkdtempSync(join(directory, "elsewhere-"));
    const { code, stdout, stderr } = await runInboxd(["trigger", "bounce", "distant"], {
      cwd: elsewhere,
      env: client(),
    });
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^The bounce goes to the inbox, .*there is no database/)]);
    expect(stdout).toMatch(/^to +distant@inbox\.localhost$/m);
    expect(await stateOf(messageId)).toMatchObject({ state: "bounced", proof: "message_id" });
  });
});

test("wrong words are refused before anything comes in", async () => {
  const id = await madeInbox("untouched");
  expect(await run("spam", "untouched")).toMatchObject({ code: 2, stdout: "" });
  expect(await run("code", "nobody")).toMatchObject({ code: 1, stdout: "" });
  expect(await run("code", "untouched", "--smtp", "x:y")).toMatchObject({ code: 2, stdout: "" });
  const refused = await run("code", "untouched", "--smtp", "127.0.0.1:1");
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("Cannot send mail to 127.0.0.1:1") });
  expect((await get(`/v1/inboxes/${id}/messages`)).data).toEqual([]);
});

test("the PDF has its objects where its table says", () => {
  const pdf = new TextDecoder().decode(invoicePdf(["Total (net)", "back\\slash"]));
  const [, start = ""] = /startxref\n(\d+)\n%%EOF\n$/.exec(pdf) ?? [];
  const [, table = ""] =
    /^xref\n0 6\n0000000000 65535 f \n((?:\d{10} 00000 n \n){5})trailer/.exec(pdf.slice(Number(start))) ?? [];
  const offsets = table.split("\n").flatMap((line) => (line === "" ? [] : [Number(line.slice(0, 10))]));
  expect(offsets.map((offset) => pdf.slice(offset, offset + 8))).toEqual(
    [1, 2, 3, 4, 5].map((number) => `${number} 0 obj\n`),
  );
  const [, length = "", stream = ""] = /<< \/Length (\d+) >>\nstream\n(.*?)\nendstream/s.exec(pdf) ?? [];
  expect(stream).toHaveLength(Number(length));
  expect(stream).toContain("(Total \\(net\\)) Tj T*\n(back\\\\slash) Tj T*");
});
