import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { readConfig } from "../src/config.ts";
import { type Service, startService } from "../src/service/start.ts";
import { answer, type Receiver, startReceiver } from "./support/receiver.ts";
import { type ScriptedSmtp, scriptedSmtp } from "./support/scripted-smtp.ts";
import { deliver } from "./support/world.ts";

/** A unique word, which shows where a text came from. */
const canary = (place: string) => `canary-${place}-7f3a`;
const anyCanary = /canary-[a-z-]+-7f3a/gi;

const mail = [
  `From: "${canary("from-name")}" <${canary("from-address")}@example.com>`,
  `To: "${canary("to-name")}" <ada@inbox.localhost>`,
  `Cc: ${canary("cc")}@example.com`,
  `Reply-To: ${canary("reply-to")}@example.com`,
  `Subject: ${canary("subject")}`,
  "Message-ID: <one@example.com>",
  `References: <${canary("references")}@example.com>`,
  `X-Other: ${canary("header")}`,
  "MIME-Version: 1.0",
  `Content-Type: multipart/mixed; boundary="${canary("boundary")}"`,
  "",
  `--${canary("boundary")}`,
  "Content-Type: text/plain",
  "",
  canary("text"),
  `--${canary("boundary")}`,
  "Content-Type: text/html",
  "",
  `<p>${canary("html")}</p>`,
  `--${canary("boundary")}`,
  `Content-Type: application/pdf; name="${canary("file")}.pdf"`,
  `Content-Disposition: attachment; filename="${canary("file")}.pdf"`,
  "",
  canary("bytes"),
  `--${canary("boundary")}--`,
  "",
].join("\r\n");

/** The relay's answers to some RCPTs, which repeat the addresses. */
const relayRefuses: readonly [command: string, answer: string][] = [
  [`RCPT TO:<${canary("refused-to")}@`, `550 5.1.1 <${canary("refused-to")}@example.com>: ${canary("words-of-relay")}`],
  [`RCPT TO:<${canary("put-off-to")}@`, `450 4.2.0 <${canary("put-off-to")}@example.com>: ${canary("words-of-relay")}`],
  [`RCPT TO:<${canary("garbled-to")}@`, `${canary("words-of-relay")} for ${canary("garbled-to")}@example.com`],
];

describe("The log of a day on which everything fails once", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "ibx-logs-"));
  const apiKey = `${canary("api-key")}-of-twenty`;
  const lines: string[] = [];
  const refusals: string[] = [];
  let service: Service;
  let receiver: Receiver;
  let relay: ScriptedSmtp;

  beforeAll(async () => {
    receiver = await startReceiver({ behaviour: answer(500, {}, canary("answer")) });
    relay = await scriptedSmtp({ answer: (command) => relayRefuses.find(([start]) => command.startsWith(start))?.[1] });
    const config = readConfig({
      DATA_DIR: dataDir,
      PORT: "0",
      SMTP_PORT: "0",
      API_KEY: apiKey,
      OUTBOUND: `smtp://user:${canary("password")}@127.0.0.1:${relay.port}?tls=off`,
      WEBHOOK_URL: `${receiver.url}/${canary("hook")}`,
      WEBHOOK_SECRET: `${canary("secret")}-long-enough`,
      ALLOW_PRIVATE_WEBHOOKS: "1",
      SIGNING_KEY: `${canary("signing-key")}-which-has-to-be-long`,
      SEND_WAIT_MS: "30000",
    });
    const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
    service = await startService(config, log);
    await theDay();
  }, 60_000);

  afterAll(async () => {
    await service?.stop();
    await receiver?.close();
    await relay?.close();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Sends one request and keeps its refusal. */
  async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(new URL(path, service.apiUrl), {
      method,
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) refusals.push(text);
    return { status: response.status, body: response.ok && text.startsWith("{") ? JSON.parse(text) : undefined };
  }

  async function theDay(): Promise<void> {
    const { body: inbox } = await ask("POST", "/v1/inboxes", { username: "ada", externalId: canary("external-id") });
    expect(await deliver(service.smtp.port, mail, inbox.address, `${canary("envelope")}@example.com`)).toStartWith(
      "250",
    );
    await receiver.request(1);
    const nobody = `${canary("nobody")}@inbox.localhost`;
    expect(await deliver(service.smtp.port, mail, nobody)).toStartWith("550");

    const path = `/v1/inboxes/${inbox.id}/send`;
    const letter = {
      to: `${canary("to")}@example.com`,
      subject: canary("sent-subject"),
      body: canary("sent-body"),
      bodyHtml: `<p>${canary("sent-html")}</p>`,
      replyTo: `${canary("sent-reply-to")}@example.com`,
    };
    const key = (name: string) => ({ "idempotency-key": canary(name) });
    expect((await ask("POST", path, letter, key("key-a"))).body?.status).toBe("sent");
    for (const [name, status] of [
      ["refused", "failed"],
      ["put-off", "pending"],
      ["garbled", "pending"],
    ]) {
      const to = `${canary(`${name}-to`)}@example.com`;
      expect((await ask("POST", path, { ...letter, to }, key(`key-${name}`))).body?.status).toBe(status);
    }
    expect((await ask("POST", path, { ...letter, body: "other" }, key("key-a"))).status).toBe(422);

    // Each field once with a wrong value.
    for (const name of ["to", "subject", "body", "bodyHtml", "replyTo", "threadId", "includeQuote"]) {
      const { status } = await ask("POST", path, { ...letter, [name]: [canary(name.toLowerCase())] }, key("key-c"));
      expect(status).toBe(400);
    }
    expect((await ask("POST", path, { ...letter, to: `${canary("not-an-address")} here` }, key("key-d"))).status).toBe(
      400,
    );
    expect((await ask("POST", path, { ...letter, threadId: canary("thread") }, key("key-e"))).status).toBe(404);
    expect(
      (
        await ask("POST", path, letter, {
          "idempotency-key": `${canary("key-f")} and more`,
        })
      ).status,
    ).toBe(400);
    expect((await ask("POST", path, `{"body": "${canary("broken-json")}`, key("key-g"))).status).toBe(400);
    expect(
      (await ask("POST", path, letter, { ...key("key-h"), authorization: `Bearer ${canary("stranger")}` })).status,
    ).toBe(401);
    expect((await ask("POST", "/v1/inboxes", { username: `${canary("user")} name` })).status).toBe(400);
    expect((await ask("GET", `/v1/inboxes?limit=${canary("limit")}`)).status).toBe(400);
    expect((await ask("PUT", "/v1/webhook", { url: `ftp://${canary("url")}.example/` })).status).toBe(422);

    const { body: page } = await ask("GET", `/v1/inboxes/${inbox.id}/messages?direction=inbound`);
    const [message] = page.data;
    const file = new URL(message.attachments[0].url);
    expect(file.pathname).toContain(canary("file"));
    expect((await ask("GET", file.pathname + file.search)).status).toBe(200);
    expect((await ask("GET", `/v1/messages?q=${canary("search")}`)).status).toBe(200);

    // Every statement on messages fails, as after a bug.
    await service.deps.db.maintain((runner) => runner.script("alter table messages rename to meddled"));
    expect((await ask("POST", path, letter, key("key-i"))).status).toBe(500);
    expect((await ask("GET", file.pathname + file.search)).status).toBe(500);
    expect(await deliver(service.smtp.port, mail.replace("one@", "two@"), inbox.address)).toStartWith("451");
    await service.deps.db.maintain((runner) => runner.script("alter table meddled rename to messages"));
  }

  test("has a line for each mail, each attempt and each failure", () => {
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const count = (message: string) => told.filter(({ msg }) => msg === message).length;
    expect(count("mail received")).toBe(1);
    expect(count("event not delivered: trying again")).toBe(1);
    expect(count("mail sent")).toBe(1);
    expect(count("mail failed")).toBe(1);
    expect(count("mail put off")).toBe(2);
    expect(count("request failed: unexpected error")).toBe(2);
    expect(count("smtp fault")).toBe(1);
  });

  const ids: readonly [message: string, fields: string[]][] = [
    ["mail received", ["rfc_message_id", "inboxes", "size_bytes", "outcome"]],
    ["event not delivered: trying again", ["event_id", "message_id", "account_id", "attempt", "latency_ms", "error"]],
    ["mail sent", ["message_id", "rfc_message_id", "attempt", "provider_message_id"]],
    ["mail failed", ["message_id", "rfc_message_id", "attempt", "failure"]],
    ["request failed: unexpected error", ["request_id", "method", "path", "error"]],
  ];
  test.each(ids)("has the ids of %s", (message, fields) => {
    const line = lines.find((each) => each.includes(`"msg":"${message}"`)) ?? "{}";
    expect(Object.keys(JSON.parse(line))).toEqual(expect.arrayContaining(fields));
  });

  test("has no word of a mail, an address or a secret", () => {
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.flatMap((line) => line.match(anyCanary) ?? [])).toEqual([]);
  });

  test("is beside refusals that repeat no given value except the path", () => {
    expect(refusals.length).toBeGreaterThan(15);
    const said = refusals.map((text) => ({ ...JSON.parse(text), instance: undefined }));
    expect(said.flatMap((problem) => JSON.stringify(problem).match(anyCanary) ?? [])).toEqual([]);
  });
});
