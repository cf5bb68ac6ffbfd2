import { afterEach, describe, expect, test } from "bun:test";
import { type Relay, type SmtpRelayOptions, smtpRelay } from "../../src/relay/relay.ts";
import { mailTo, only } from "../support/relayed-mail.ts";
import { type Script, type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

async function world(script: Script, options: Partial<SmtpRelayOptions> = {}) {
  const server: ScriptedSmtp = await scriptedSmtp(script);
  const relay: Relay = smtpRelay(
    { kind: "smtp", host: "127.0.0.1", port: server.port, tls: "off", login: undefined },
    {
      hostname: "inbox.test",
      timings: { connectMs: 5000, greetingMs: 5000, commandMs: 5000, dataMs: 5000 },
      ...options,
    },
  );
  open.push(server, relay);
  const send = async (to = "jane@example.com") => only(await relay.send(mailTo(to, `To: ${to}\r\n\r\nHi\r\n`)));
  return { server, relay, send };
}

const sent = { kind: "sent" };

test("several mails in order use one connection", async () => {
  const { server, send } = await world({ extensions: ["PIPELINING"] });
  for (let number = 1; number <= 3; number += 1) {
    expect(await send(`r${number}@example.com`)).toMatchObject({ ...sent, providerMessageId: `1A${number}` });
  }
  expect(server.mails.map(({ to }) => to)).toEqual(["r1@example.com", "r2@example.com", "r3@example.com"]);
  expect(server.connections()).toBe(1);
});

test("many mails at the same time share a few connections, and each arrives once with its own outcome", async () => {
  const { server, send } = await world({}, { maxConnections: 3 });
  const names = Array.from({ length: 40 }, (_, index) => `r${index}@example.com`);
  const outcomes = await Promise.all(names.map(send));
  expect(server.mails.map(({ to }) => to).toSorted()).toEqual(names.toSorted());
  expect(server.connections()).toBe(3);
  const ids = outcomes.map((outcome) => outcome.kind === "sent" && outcome.providerMessageId);
  expect(new Set(ids).size).toBe(40);
});

describe("an idle connection that died", () => {
  test("is replaced if its end was noticed", async () => {
    const { server, send } = await world({});
    await send();
    server.cut();
    await server.openIs(0);
    expect(await send()).toMatchObject(sent);
    expect(server.connections()).toBe(2);
  });

  const deaths: [what: string, move: NonNullable<ReturnType<NonNullable<Script["answer"]>>>][] = [
    ["is reset", "reset"],
    ["is closed", "hang up"],
    ["says 421", { lastWords: "421 4.4.2 Timeout exceeded" }],
  ];
  test.each(deaths)("that %s only at the next mail is replaced, and the mail is sent", async (_what, move) => {
    const { server, send } = await world({
      answer: (line, { mails, connection }) =>
        connection === 1 && mails === 1 && line.startsWith("MAIL") ? move : undefined,
    });
    expect(await send()).toMatchObject(sent);
    expect(await send()).toMatchObject({ ...sent, providerMessageId: "2A1" });
    expect(server.mails).toHaveLength(2);
  });

  test("does not cause a mail to be repeated after its content was sent", async () => {
    const { server, send } = await world({
      answer: (line, { mails }) => (mails === 2 && line === "." ? "reset" : undefined),
    });
    await send();
    expect(await send()).toMatchObject({ kind: "retry", maybeAccepted: true });
    expect(server.mails).toHaveLength(2);
    expect(server.connections()).toBe(1);
  });

  test("is replaced only once: a relay that disconnects at every mail gets no third try", async () => {
    const { server, send } = await world({
      answer: (line, { mails, connection }) =>
        line.startsWith("MAIL") && (connection > 1 || mails > 0) ? "hang up" : undefined,
    });
    await send();
    expect(await send()).toMatchObject({ kind: "retry", maybeAccepted: false });
    expect(server.connections()).toBe(2);
  });
});

test("after a refusal, the connection is used for the next mail", async () => {
  const { server, send } = await world({
    answer: (line) => (line.includes("nobody") ? "550 5.1.1 No such user" : undefined),
  });
  expect(await send("nobody@example.com")).toMatchObject({ kind: "failed" });
  expect(await send()).toMatchObject(sent);
  expect(server.connections()).toBe(1);
  expect(server.commands.slice(1)).toEqual([
    "MAIL FROM:<bot@inbox.test>",
    "RCPT TO:<nobody@example.com>",
    "RSET",
    "MAIL FROM:<bot@inbox.test>",
    "RCPT TO:<jane@example.com>",
    "DATA",
    ".",
  ]);
});

test("after a refused RSET, the next mail uses another connection", async () => {
  const { server, send } = await world({
    answer: (line) =>
      line.includes("nobody") ? "550 5.1.1 No such user" : line === "RSET" ? "502 5.5.1 What?" : undefined,
  });
  expect(await send("nobody@example.com")).toMatchObject({ kind: "failed" });
  expect(await send()).toMatchObject(sent);
  expect(server.connections()).toBe(2);
});

test("a connection with a malformed reply is not used again", async () => {
  const { send } = await world({
    answer: (line, { connection }) => (connection === 1 && line.startsWith("RCPT") ? "banana" : undefined),
  });
  expect(await send()).toMatchObject({ kind: "retry" });
  expect(await send()).toMatchObject({ ...sent, providerMessageId: "2A1" });
});

test("a relay that accepts DATA without a recipient gets no content", async () => {
  const { server, send } = await world({
    extensions: ["PIPELINING"],
    answer: (line) => (line.includes("nobody") ? "550 5.1.1 No such user" : line === "DATA" ? "354 Go on" : undefined),
  });
  expect(await send("nobody@example.com")).toMatchObject({ kind: "failed", failure: { code: 550 } });
  expect(await send()).toMatchObject(sent);
  expect(server.mails.map(({ to, raw }) => [to, raw.length])).toEqual([
    ["", 0],
    ["jane@example.com", "To: jane@example.com\r\n\r\nHi\r\n".length],
  ]);
});

test("an idle connection ends with QUIT after its time limit", async () => {
  const { server, send } = await world({}, { idleMs: 20 });
  await send();
  await server.seen("QUIT");
  await server.openIs(0);
  expect(await send()).toMatchObject(sent);
  expect(server.connections()).toBe(2);
});

test("a connection ends after its maximum number of mails", async () => {
  const { server, send } = await world({}, { maxMailsPerConnection: 2 });
  for (let number = 0; number < 5; number += 1) expect(await send()).toMatchObject(sent);
  expect(server.connections()).toBe(3);
});

test("if the relay is down, all mails that wait fail at once, without a try for each", async () => {
  const { server, send } = await world({ greeting: { lastWords: "421 4.3.2 Down" } }, { maxConnections: 2 });
  const outcomes = await Promise.all(Array.from({ length: 30 }, () => send()));
  expect(outcomes).toHaveLength(30);
  for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: "retry", failure: { code: 421 } });
  expect(server.connections()).toBe(2);
});

test("a relay that accepts only one connection gets all mail over it", async () => {
  const { server, send } = await world({
    answer: (line, { connection }) =>
      connection > 1 && line.startsWith("EHLO") ? { lastWords: "421 4.7.0 Too many connections" } : undefined,
  });
  await send();
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => send()));
  for (const outcome of outcomes) expect(outcome).toMatchObject({ ...sent });
  expect(new Set(server.mails.map(({ connection }) => connection))).toEqual(new Set([1]));
  expect(server.connections()).toBeLessThanOrEqual(10);
});

test("a mail waits for a busy connection up to a time limit", async () => {
  const { server, send } = await world(
    { answer: (line) => (line === "." ? "silence" : undefined) },
    { maxConnections: 1, waitMs: 30 },
  );
  const first = send();
  await server.seen(".");
  expect(await send()).toMatchObject({
    kind: "retry",
    failure: { message: "Cannot relay now: all connections to the relay are busy" },
  });
  server.cut();
  expect(await first).toMatchObject({ kind: "retry", maybeAccepted: true });
});

test("closing waits for the mail in progress, sends QUIT, and rejects new mail", async () => {
  const { server, relay, send } = await world({});
  const inHand = send();
  await server.seen("DATA");
  await Promise.all([relay.close(), inHand]);
  expect(await inHand).toMatchObject(sent);
  expect(server.commands.at(-1)).toBe("QUIT");
  await server.openIs(0);
  expect(await send()).toMatchObject({ kind: "retry" });
  expect(server.connections()).toBe(1);
});

test("closing does not wait for a connection that is being opened", async () => {
  const { server, relay, send } = await world({ greeting: "silence" });
  const waiting = send();
  await server.openIs(1);
  await relay.close();
  expect(await waiting).toMatchObject({ kind: "retry" });
  await server.openIs(0);
});
