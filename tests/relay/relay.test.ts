import { afterEach, describe, expect, test } from "bun:test";
import { parseOutbound, type SmtpOutbound } from "../../src/domain/outbound.ts";
import type { RelayOutcome } from "../../src/domain/outcome.ts";
import { type Relay, type SmtpRelayOptions, smtpRelay } from "../../src/relay/relay.ts";
import { mailTo } from "../support/relayed-mail.ts";
import { type Script, type ScriptedSmtp, scriptedSmtp } from "../support/scripted-smtp.ts";
import { testOnlyCertificate } from "../support/test-only-certificate.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

/** Time limits that no test reaches, apart from the one that it sets. */
const patient = { connectMs: 5000, greetingMs: 5000, commandMs: 5000, dataMs: 5000 };
const trusting = { ca: testOnlyCertificate };

interface World {
  server: ScriptedSmtp;
  relay: Relay;
}

/** A scripted server and a relay to it; `url` is `OUTBOUND` with HOST for the server's host and port. */
async function world(
  script: Script,
  url = "smtp://HOST?tls=off",
  { login, ...options }: Partial<SmtpRelayOptions & Pick<SmtpOutbound, "login">> = {},
) {
  const server = await scriptedSmtp(script);
  const to = outbound(url.replace("HOST", `localhost:${server.port}`));
  const relay = smtpRelay(login === undefined ? to : { ...to, login }, {
    hostname: "inbox.test",
    timings: patient,
    ...options,
  });
  open.push(server, relay);
  return { server, relay } satisfies World;
}

function outbound(url: string): SmtpOutbound {
  const parsed = parseOutbound(url);
  if (typeof parsed === "string" || parsed.kind !== "smtp") throw new Error(`not a relay: ${url}`);
  return parsed;
}

const raw = new TextEncoder().encode("Subject: Hi\r\n\r\nHello\r\n");
const mail = mailTo("jane@example.com", raw);

/** The outcomes as one short line. */
function inShort(outcomes: readonly RelayOutcome[]): string {
  return outcomes.map(oneInShort).join(", ");
}

function oneInShort(outcome: RelayOutcome): string {
  if (outcome.kind === "sent") return `sent ${outcome.providerMessageId}`;
  const { code, enhancedCode } = outcome.failure;
  const maybe = outcome.kind === "retry" && outcome.maybeAccepted ? " maybe accepted" : "";
  return `${outcome.kind} ${code ?? "-"} ${enhancedCode ?? "-"}${maybe}`;
}

/** A script that answers `command` with this move, and everything else as usual. */
function when(command: string, move: ReturnType<NonNullable<Script["answer"]>>): Script {
  return { answer: (line) => (line.startsWith(command) ? move : undefined) };
}

test("a mail that the relay accepts is sent, with the relay's own id and its reply", async () => {
  const { server, relay } = await world({});
  expect(await relay.send(mail)).toEqual([
    {
      kind: "sent",
      reply: "250 2.0.0 Ok: queued as 1A1",
      providerMessageId: "1A1",
      server: { host: "localhost", tls: null },
    },
  ]);
  expect(server.mails).toEqual([
    { from: "bot@inbox.test", to: "jane@example.com", raw: Buffer.from(raw), isEncrypted: false, connection: 1 },
  ]);
  expect(server.commands[0]).toBe("EHLO inbox.test");
});

describe("the reply of the relay decides between sent, retry and failed", () => {
  const rows: [what: string, script: Script, outcome: string][] = [
    ["4xx to MAIL", when("MAIL", "451 4.3.0 Not now"), "retry 451 4.3.0"],
    ["5xx to MAIL", when("MAIL", "550 5.7.1 Not you"), "failed 550 5.7.1"],
    ["4xx to RCPT", when("RCPT", "450 4.2.0 Greylisted"), "retry 450 4.2.0"],
    ["5xx to RCPT", when("RCPT", "550 5.1.1 No such user"), "failed 550 5.1.1"],
    ["4xx to DATA", when("DATA", "451 Not now"), "retry 451 -"],
    ["5xx to DATA", when("DATA", "554 5.5.1 No"), "failed 554 5.5.1"],
    ["4xx to the final dot", when(".", "452 4.3.1 Disk full"), "retry 452 4.3.1"],
    ["5xx to the final dot", when(".", "554 5.7.1 Spam"), "failed 554 5.7.1"],
    ["421 to the greeting", { greeting: { lastWords: "421 4.3.2 Too many" } }, "retry 421 4.3.2"],
    ["421 to EHLO", when("EHLO", { lastWords: "421 4.3.2 Closing" }), "retry 421 4.3.2"],
    ["421 to MAIL", when("MAIL", { lastWords: "421 4.3.2 Closing" }), "retry 421 4.3.2"],
    ["421 to RCPT", when("RCPT", { lastWords: "421 4.3.2 Closing" }), "retry 421 4.3.2"],
    ["421 to the final dot", when(".", { lastWords: "421 4.3.2 Closing" }), "retry 421 4.3.2"],
    ["5xx greeting: the relay refuses us, not this mail", { greeting: "554 5.7.1 No" }, "retry 554 5.7.1"],
    ["5xx to EHLO and HELO", { answer: (line) => (/^(EHLO|HELO)/.test(line) ? "550 No" : undefined) }, "retry 550 -"],
    ["several lines", when("RCPT", "550-5.1.1 No such\r\n550 5.1.1 user"), "failed 550 5.1.1"],
    ["a reply in many packets", when(".", { packets: [..."250 2.0.0 Ok: ", "queued as 4F5B\r", "\n"] }), "sent 4F5B"],
    [
      "an acceptance and the end of the connection at once",
      when(".", { lastWords: "250 2.0.0 Ok: queued as 4F5B" }),
      "sent 4F5B",
    ],
    [
      "an acceptance and a reset at once",
      when(".", { lastWords: "250 2.0.0 Ok: queued as 4F5B", isReset: true }),
      "sent 4F5B",
    ],
    ["a malformed greeting", { greeting: "SSH-2.0-OpenSSH_9.9" }, "retry - -"],
    ["a malformed reply to MAIL", when("MAIL", "Who are you?"), "retry - -"],
    ["a malformed reply to RCPT", when("RCPT", "5x5 5.1.1 what"), "retry - -"],
    ["a malformed reply to DATA", when("DATA", "\u0000\u0001\u0002"), "retry - -"],
    ["a malformed reply to the final dot", when(".", "banana"), "retry - - maybe accepted"],
    ["a malformed reply that begins like an acceptance", when(".", "2 bananas"), "retry - - maybe accepted"],
    ["lines that contradict each other", when(".", "250-fine\r\n550 or not"), "retry - - maybe accepted"],
    ["disconnected at once", { greeting: "hang up" }, "retry - -"],
    ["reset at once", { greeting: "reset" }, "retry - -"],
    ["disconnected at MAIL", when("MAIL", "hang up"), "retry - -"],
    ["disconnected at DATA, before the final dot", when("DATA", "hang up"), "retry - -"],
    ["half a refusal after the final dot", when(".", { lastWords: { bytes: "550 5.7" } }), "retry - - maybe accepted"],
    ["disconnected after the final dot", when(".", "hang up"), "retry - - maybe accepted"],
    ["reset after the final dot", when(".", "reset"), "retry - - maybe accepted"],
  ];
  for (const pipelining of [false, true]) {
    test.each(rows)(`%s${pipelining ? ", with pipelining" : ""}`, async (_what, script, expected) => {
      const { server, relay } = await world({ ...script, extensions: pipelining ? ["PIPELINING"] : [] });
      expect(inShort(await relay.send(mail))).toBe(expected);
      // A mail that failed on a new connection is not tried again by the relay itself.
      expect(server.connections()).toBe(1);
      const isOffered = script.answer?.(".", { mails: 1, connection: 1, isEncrypted: false }) !== undefined;
      expect(server.mails).toHaveLength(isOffered ? 1 : 0);
    });
  }
});

describe("every wait has a time limit:", () => {
  const rows: [what: string, script: Script, timings: object, outcome: string][] = [
    ["a greeting that doesn't come", { greeting: "silence" }, { greetingMs: 50 }, "retry - -"],
    ["EHLO", when("EHLO", "silence"), { commandMs: 50 }, "retry - -"],
    ["MAIL", when("MAIL", "silence"), { commandMs: 50 }, "retry - -"],
    ["RCPT", when("RCPT", "silence"), { commandMs: 50 }, "retry - -"],
    ["DATA", when("DATA", "silence"), { commandMs: 50 }, "retry - -"],
    ["the final dot", when(".", "silence"), { dataMs: 50 }, "retry - - maybe accepted"],
  ];
  test.each(rows)("%s", async (_what, script, timings, expected) => {
    const { server, relay } = await world(script, undefined, { timings: { ...patient, ...timings } });
    expect(inShort(await relay.send(mail))).toBe(expected);
    await server.openIs(0);
  });

  test("a server whose reply drips without end", async () => {
    const endless = Array.from({ length: 10_000 }, () => "250-still here\r\n");
    const { server, relay } = await world(when("EHLO", { packets: endless }), undefined, {
      timings: { ...patient, greetingMs: 60, commandMs: 60 },
    });
    expect(inShort(await relay.send(mail))).toBe("retry - -");
    await server.openIs(0);
  });

  test("an abort by the caller", async () => {
    const { server, relay } = await world(when(".", "silence"));
    const caller = new AbortController();
    const sending = relay.send(mail, caller.signal);
    await server.seen(".");
    caller.abort();
    expect(inShort(await sending)).toBe("retry - - maybe accepted");
    expect(inShort(await relay.send(mail, caller.signal))).toBe("retry - -");
    expect(server.connections()).toBe(1);
  });
});

test("without a server the outcome is retry, with the reason", async () => {
  const { server, relay } = await world({});
  await server.close();
  expect(await relay.send(mail)).toEqual([
    {
      kind: "retry",
      failure: {
        code: null,
        enhancedCode: null,
        message: `Cannot open a session with localhost:${server.port}: connection refused`,
      },
      maybeAccepted: false,
      server: { host: "localhost", tls: null },
    },
  ]);
});

describe("required TLS never falls back to plain text:", () => {
  const starttls = { extensions: ["STARTTLS"] };
  const refused: [what: string, script: Script, url: string, options: object][] = [
    ["STARTTLS is not offered", { answer: (line) => (line === "STARTTLS" ? "502 No" : undefined) }, "smtp://HOST", {}],
    ["STARTTLS is refused for now", { ...starttls, ...when("STARTTLS", "454 4.7.0 No") }, "smtp://HOST", trusting],
    ["STARTTLS is refused", { ...starttls, ...when("STARTTLS", "501 5.5.1 No") }, "smtp://HOST", trusting],
    ["the handshake fails", { ...starttls, tls: "handshake fails" }, "smtp://HOST", trusting],
    ["EHLO fails", when("EHLO", "502 5.5.1 No"), "smtp://HOST", trusting],
    ["the certificate is not trusted", starttls, "smtp://HOST", {}],
    ["the certificate of smtps is not trusted", { tls: "implicit" }, "smtps://HOST", {}],
    ["smtps, but the server speaks plain", {}, "smtps://HOST", trusting],
  ];
  test.each(refused)("%s", async (_what, script, url, options) => {
    const { server, relay } = await world(script, url.replace("//", "//ada:secret@"), {
      ...options,
      timings: { ...patient, greetingMs: 1000 },
    });
    expect(inShort(await relay.send(mail))).toStartWith("retry ");
    expect(server.commands.filter((line) => !/^(EHLO inbox\.test|STARTTLS)$/.test(line))).toEqual([]);
    expect(server.connections()).toBe(1);
  });

  test("the certificate is for another host", async () => {
    const server = await scriptedSmtp(starttls);
    const relay = smtpRelay(outbound(`smtp://127.0.0.1:${server.port}`), { hostname: "inbox.test", ...trusting });
    open.push(server, relay);
    const [outcome] = await relay.send(mail);
    expect(outcome).toMatchObject({ kind: "retry", failure: { message: expect.stringContaining("TLS failed") } });
    expect(server.mails).toEqual([]);
  });

  test.each([
    ["STARTTLS", starttls, "smtp://HOST"],
    ["smtps", { tls: "implicit" } as Script, "smtps://HOST"],
  ])("by %s a good certificate is enough", async (_what, script, url) => {
    const { server, relay } = await world(script, url, trusting);
    expect(inShort(await relay.send(mail))).toBe("sent 1A1");
    expect(server.mails[0]?.isEncrypted).toBe(true);
  });

  test("plain text after the reply to STARTTLS is discarded", async () => {
    const injected = { packets: ["220 2.0.0 Ready\r\n250 injected\r\n"] };
    const { server, relay } = await world({ ...starttls, ...when("STARTTLS", injected) }, "smtp://HOST", {
      ...trusting,
      timings: { ...patient, greetingMs: 200 },
    });
    expect(inShort(await relay.send(mail))).toBe("retry - -");
    expect(server.mails).toEqual([]);
  });
});

describe("opportunistic TLS accepts", () => {
  const url = "smtp://HOST?tls=opportunistic";
  const rows: [what: string, script: Script, isEncrypted: boolean, connections: number][] = [
    ["any certificate", { extensions: ["STARTTLS"] }, true, 1],
    ["plain text if STARTTLS is not offered", {}, false, 1],
    [
      "plain, on a new connection, where the handshake fails",
      { extensions: ["STARTTLS"], tls: "handshake fails" },
      false,
      2,
    ],
    ["plain text if STARTTLS is refused", { extensions: ["STARTTLS"], ...when("STARTTLS", "454 No") }, false, 2],
  ];
  test.each(rows)("%s", async (_what, script, isEncrypted, connections) => {
    const { server, relay } = await world(script, url);
    expect(inShort(await relay.send(mail))).toStartWith("sent ");
    expect(server.mails[0]?.isEncrypted).toBe(isEncrypted);
    expect(server.connections()).toBe(connections);
  });

  // OUTBOUND does not allow this combination, and the relay does not either.
  test.each(rows)("but sends no password over plain text: %s", async (_what, script, isEncrypted) => {
    const { server, relay } = await world(script, url, { login: { user: "ada", password: "secret" } });
    expect(inShort(await relay.send(mail))).toStartWith(isEncrypted ? "sent " : "retry ");
    expect(server.commands.some((line) => line.startsWith("AUTH"))).toBe(isEncrypted);
  });
});

describe("logging in", () => {
  const url = "smtp://ada:s%3Ac%40ret@HOST?tls=off";

  test("by PLAIN, once for each connection", async () => {
    const { server, relay } = await world({ extensions: ["AUTH PLAIN LOGIN"] }, url);
    await relay.send(mail);
    await relay.send(mail);
    const logins = server.commands.filter((line) => line.startsWith("AUTH"));
    expect(logins).toEqual([`AUTH PLAIN ${btoa("\0ada\0s:c@ret")}`]);
    expect(server.mails).toHaveLength(2);
  });

  test("by LOGIN if nothing else is offered", async () => {
    const steps: Record<string, string> = {
      "AUTH LOGIN": "334 VXNlcm5hbWU6",
      [btoa("ada")]: "334 UGFzc3dvcmQ6",
      [btoa("s:c@ret")]: "235 2.7.0 Welcome",
    };
    const { relay } = await world({ extensions: ["AUTH LOGIN"], answer: (line) => steps[line] }, url);
    expect(inShort(await relay.send(mail))).toBe("sent 1A1");
  });

  test("a broken login loses no mail and shows no password", async () => {
    const { relay } = await world(when("AUTH", "535 5.7.8 Authentication failed"), url);
    const [outcome] = await relay.send(mail);
    expect(outcome).toMatchObject({ kind: "retry", failure: { code: 535, enhancedCode: "5.7.8" } });
    expect(JSON.stringify(outcome) + relay.describe()).not.toMatch(/s:c@ret|s%3Ac%40ret|AGFkYQ/);
  });
});

describe("what goes over the wire", () => {
  test("a large mail with lines that begin with dots arrives byte for byte", async () => {
    const lines = Array.from({ length: 40_000 }, (_, index) => `${".".repeat(index % 4)}${"x".repeat(index % 90)}\r\n`);
    const raw = new TextEncoder().encode(`Subject: dots\r\n\r\n${lines.join("")}.\r\n..\r\n`);
    const { server, relay } = await world({ extensions: ["SIZE 10000000", "PIPELINING"] });
    expect(inShort(await relay.send(mailTo("jane@example.com", raw)))).toBe("sent 1A1");
    expect(server.mails[0]?.raw.equals(raw)).toBe(true);
    expect(server.commands).toContain(`MAIL FROM:<bot@inbox.test> SIZE=${raw.byteLength}`);
  });

  test("short mails, large ones and those with dots arrive byte for byte over one connection", async () => {
    const { server, relay } = await world({}, undefined, { maxConnections: 1 });
    const short = "Subject: x\r\n\r\na.b\r\n";
    const texts = [short, `${short}.\r\n..\r\n`, short, `.${short}`, short, short.repeat(10_000), short];
    for (const text of texts) expect(inShort(await relay.send(mailTo("jane@example.com", text)))).toStartWith("sent");
    expect(server.mails.map(({ raw }) => raw.toString())).toEqual(texts);
    expect(server.connections()).toBe(1);
  });

  test("only CRLF ends a line, and only our final dot ends the mail", async () => {
    const raw = new TextEncoder().encode("Subject: x\n\na\n.\nb\r.\rc");
    const { server, relay } = await world({});
    await relay.send(mailTo("jane@example.com", raw));
    expect(server.mails[0]?.raw.toString()).toBe("Subject: x\r\n\r\na\r\n.\r\nb\r\n.\r\nc\r\n");
    expect(server.mails).toHaveLength(1);
  });

  test("a mail over the server's SIZE fails without being offered", async () => {
    const { server, relay } = await world({ extensions: ["SIZE 10"] });
    expect(inShort(await relay.send(mail))).toBe("failed 552 5.3.4");
    expect(server.commands).toEqual(["EHLO inbox.test"]);
    // SIZE 0, and SIZE alone, set no limit (RFC 1870 §4).
    for (const extensions of [["SIZE 0"], ["SIZE"]]) {
      expect(inShort(await (await world({ extensions })).relay.send(mail))).toStartWith("sent ");
    }
  });

  test("a non-ASCII address is sent only to a server with SMTPUTF8", async () => {
    const foreign = { ...mailTo("жанна@example.com", raw), smtpUtf8: true };
    const able = await world({ extensions: ["SMTPUTF8"] });
    expect(inShort(await able.relay.send(foreign))).toBe("sent 1A1");
    expect(able.server.commands).toContain("MAIL FROM:<bot@inbox.test> SMTPUTF8");
    const unable = await world({});
    expect(inShort(await unable.relay.send(foreign))).toBe("failed 553 5.6.7");
    expect(unable.server.commands).toEqual(["EHLO inbox.test"]);
  });

  test("an address that would smuggle a command fails here", async () => {
    const { server, relay } = await world({});
    const outcome = await relay.send(mailTo("a@b.test>\r\nRCPT TO:<c@d.test", raw));
    expect(inShort(outcome)).toBe("failed 553 5.1.3");
    expect(server.commands).toEqual(["EHLO inbox.test"]);
  });

  test("the text of a server becomes one clean line", async () => {
    const { relay } = await world(when("RCPT", `550 5.1.1 no\u202e such\tuser\u0007 ${"x".repeat(900)}`));
    const [outcome] = await relay.send(mail);
    expect(outcome?.kind === "failed" && outcome.failure.message).toBe(`no such user ${"x".repeat(486)}…`);
  });
});

test("a relay is identified by host and port, and described without its password", () => {
  const relay = smtpRelay(outbound("smtp://ada:secret@Relay.Example"), { hostname: "inbox.test" });
  expect(relay.serverOf("jane@example.com")).toBe("relay.example:587");
  expect(relay.describe()).toBe("smtp://ada:***@relay.example:587");
});
