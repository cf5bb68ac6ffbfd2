import { afterAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkCertificate } from "../../src/commands/doctor/certificate.ts";
import { checkDataDir } from "../../src/commands/doctor/data-dir.ts";
import { type Consultation, diagnose } from "../../src/commands/doctor/diagnose.ts";
import { type Finding, hasFailure, shownFindings } from "../../src/commands/doctor/finding.ts";
import { checkPorts, type Identity } from "../../src/commands/doctor/ports.ts";
import { checkNotices, checkRelay } from "../../src/commands/doctor/relay.ts";
import { checkProgram, checkWebhooks } from "../../src/commands/doctor/webhook.ts";
import { parseOutbound } from "../../src/domain/outbound.ts";
import type { NoticeSource } from "../../src/domain/reports/notice-source.ts";
import { publicKeyRecord } from "../../src/mail/write/dkim.ts";
import { runInboxd, startInboxd } from "../support/inboxd.ts";
import { startReceiver } from "../support/receiver.ts";
import { scriptedDns, zone } from "../support/scripted-dns.ts";
import { type Script, scriptedSmtp } from "../support/scripted-smtp.ts";
import { expiredCertificate, hooksCertificate, hooksKey, otherKey, testAuthority } from "../support/test-authority.ts";
import { testOnlyCertificate, testOnlyKey } from "../support/test-only-certificate.ts";

const directory = mkdtempSync(join(tmpdir(), "ibx-doctor-"));
afterAll(() => rmSync(directory, { recursive: true }));
const now = new Date("2026-03-21T10:05:00.000Z");

const nobody: Consultation = {
  now: () => now,
  openDns: () => ({ ask: async () => ({ kind: "no_name", ttlSeconds: 0 }), close: async () => {} }),
  askServer: () => Promise.reject(new Error("nobody is there")),
};

async function notThere(): Promise<never> {
  throw Object.assign(new Error("not there"), { code: "ENOTFOUND" });
}

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe("The configuration", () => {
  test("each wrong variable is a finding by its name, and nothing else is looked at", async () => {
    const findings = await diagnose({ PORT: "http", PLAN: "gold", DKIM_SELECTOR: "s1" }, nobody);
    expect(findings.map(({ check, level }) => `${level} ${check}`)).toEqual(Array(3).fill("fail configuration"));
    expect(findings.map(({ seen }) => seen.slice(0, seen.indexOf(":"))).toSorted()).toEqual([
      "DKIM_KEY",
      "PLAN",
      "PORT",
    ]);
  });

  test("settings that others could not use are warnings, each with its variable", async () => {
    const smtp = { SMTP_PORT: "2525", SMTP_MAX_CONNECTIONS_PER_ADDRESS: "5000" };
    const env = { MAIL_DOMAIN: "in.ada.works", PORT: "0", ...smtp, DATA_DIR: directory };
    const findings = (await diagnose(env, nobody)).filter(({ check }) => check === "configuration");
    expect(findings.map(({ level, seen }) => `${level} ${seen.split(" ")[0]}`)).toEqual([
      "warn SMTP_HOST",
      "warn SMTP_PORT",
      "warn SMTP_MAX_CONNECTIONS_PER_ADDRESS",
      "warn BASE_URL",
      "warn OPERATOR_INBOX",
    ]);
  });

  test("an address of the API without TLS, or that leads to nobody else, is to be looked at", async () => {
    const env = { MAIL_DOMAIN: "in.ada.works", PORT: "0", SMTP_PORT: "0", DATA_DIR: directory };
    const seen = async (baseUrl: string) =>
      (await diagnose({ ...env, BASE_URL: baseUrl }, nobody)).filter((finding) => finding.seen.startsWith("BASE_URL"));
    expect(await seen("http://api.ada.works")).toMatchObject([
      { level: "warn", todo: expect.stringContaining("HTTPS") },
    ]);
    for (const own of ["http://127.0.0.1:3000", "https://localhost"]) {
      expect(await seen(own)).toMatchObject([{ level: "warn", todo: expect.stringContaining("approvers reach") }]);
    }
    expect(await seen("https://api.ada.works")).toEqual([]);
  });

  test("a key that DKIM can't use is a finding, not an end", async () => {
    const pem = "-----BEGIN PRIVATE KEY-----\\nnonsense\\n-----END PRIVATE KEY-----";
    const env = { PORT: "0", SMTP_PORT: "0", DATA_DIR: directory, DKIM_SELECTOR: "s1", DKIM_KEY: pem };
    const findings = await diagnose(env, nobody);
    expect(findings).toContainEqual(expect.objectContaining({ check: "dns dkim", level: "fail" }));
    expect(findings.map(({ check }) => check)).toContain("webhook");
    expect(JSON.stringify(findings)).not.toContain("nonsense");
  });
});

describe("The data directory", () => {
  const rooms: readonly [what: string, bytes: number, level: Finding["level"]][] = [
    ["room", 50e9, "ok"],
    ["little room", 0.9e9, "warn"],
    ["no room", 0.05e9, "fail"],
  ];
  test.each(rooms)("with %s", async (_what, bytes, level) => {
    const [finding] = await checkDataDir({ dataDir: directory, freeBytes: async () => bytes });
    expect(finding?.level).toBe(level);
    expect(finding?.seen).toContain(`${(bytes / 1e9).toFixed(1)} GB free`);
  });

  test("is checked without a trace, also before it is created", async () => {
    const dataDir = join(directory, "not", "yet");
    const before = readdirSync(directory);
    const [finding] = await checkDataDir({ dataDir });
    expect(finding).toMatchObject({ level: "ok", seen: expect.stringContaining("which the first start creates") });
    expect(readdirSync(directory)).toEqual(before);
  });

  test("that is a file can't be written to", async () => {
    const [finding] = await checkDataDir({ dataDir: join(file("a-file", ""), "data") });
    expect(finding).toMatchObject({ level: "fail", seen: expect.stringContaining("(ENOTDIR)") });
  });

  test.skipIf(process.getuid?.() === 0)("of somebody else can't be written to", async () => {
    const dataDir = join(directory, "theirs");
    mkdirSync(dataDir);
    chmodSync(dataDir, 0o500);
    const [finding] = await checkDataDir({ dataDir });
    expect(finding).toMatchObject({ level: "fail", seen: expect.stringContaining("(EACCES)") });
  });
});

describe("The certificate", () => {
  const key = file("hooks.key", hooksKey);
  const cases: readonly [
    what: string,
    cert: string,
    keyPath: string,
    name: string,
    level: Finding["level"],
    seen: string,
  ][] = [
    ["for the name", hooksCertificate, key, "hooks.test", "ok", "is for hooks.test, until 2120-01-01"],
    ["for another name", hooksCertificate, key, "mx.ada.works", "fail", "is for DNS:hooks.test, not for mx.ada.works"],
    ["that has expired", expiredCertificate, key, "hooks.test", "fail", "has expired on 2020-02-01"],
    ["of another key", hooksCertificate, file("other.key", otherKey), "hooks.test", "fail", "the key of another"],
    ["that is none", "nonsense", key, "hooks.test", "fail", "is not valid PEM"],
    ["without its key", hooksCertificate, join(directory, "nowhere"), "hooks.test", "fail", "cannot be read"],
    ["self-signed", testOnlyCertificate, file("test.key", testOnlyKey), "localhost", "warn", "self-signed"],
  ];
  test.each(cases)("%s", async (what, cert, keyPath, smtpHostname, level, seen) => {
    const certPath = file(`${what}.pem`, cert);
    const [finding] = await checkCertificate({ smtpTls: { certPath, keyPath }, smtpHostname, now });
    expect(finding?.seen).toContain(seen);
    expect(finding?.level).toBe(level);
  });

  test("that ends within two weeks is to be renewed", async () => {
    const smtpTls = { certPath: file("soon.pem", hooksCertificate), keyPath: key };
    const dates = [
      ["2119-12-10T00:00:00Z", "ok"],
      ["2119-12-25T00:00:00Z", "warn"],
      ["2120-01-02T00:00:00Z", "fail"],
      ["2019-12-31T00:00:00Z", "fail"],
    ] as const;
    for (const [at, level] of dates) {
      const [finding] = await checkCertificate({ smtpTls, smtpHostname: "hooks.test", now: new Date(at) });
      expect(`${at} ${finding?.level}`).toBe(`${at} ${level}`);
    }
  });

  test("made by inboxd itself is to be looked at", async () => {
    const [finding] = await checkCertificate({ smtpTls: undefined, smtpHostname: "mx.ada.works", now });
    expect(finding).toMatchObject({ level: "warn", todo: expect.stringContaining("SMTP_TLS_CERT") });
  });
});

describe("A relay", () => {
  const script = { extensions: ["STARTTLS", "AUTH PLAIN"] };
  const cases: readonly [
    what: string,
    script: Script,
    url: string,
    level: Finding["level"],
    seen: string,
    todo: string,
  ][] = [
    [
      "that accepts mail",
      script,
      "smtp://bot:pass@HOST",
      "ok",
      "smtp://bot:***@localhost:PORT accepts the login and mail",
      "",
    ],
    ["with TLS from the start", { tls: "implicit" }, "smtps://HOST", "ok", "smtps://localhost:PORT accepts mail", ""],
    ["without TLS", {}, "smtp://HOST?tls=off", "warn", "TLS is not required", "OUTBOUND"],
    [
      "that doesn't offer TLS",
      { answer: (line) => (line === "STARTTLS" ? "502 5.5.1 What?" : undefined) },
      "smtp://HOST",
      "fail",
      "Cannot open a session",
      "STARTTLS",
    ],
    [
      "that refuses the login",
      { ...script, answer: (line) => (line.startsWith("AUTH") ? "535 5.7.8 Wrong" : undefined) },
      "smtp://bot:pass@HOST",
      "fail",
      "535",
      "user and password",
    ],
    [
      "that turns us away",
      { greeting: "554 5.7.1 Not you" },
      "smtp://HOST",
      "fail",
      "554 5.7.1 Not you",
      "host and port",
    ],
  ];
  test.each(cases)("%s", async (_what, given, url, level, seen, todo) => {
    const server = await scriptedSmtp(given);
    try {
      const outbound = parseOutbound(url.replace("HOST", `localhost:${server.port}`));
      if (typeof outbound === "string") throw new Error(outbound);
      const ca = testOnlyCertificate;
      const [finding] = await checkRelay({ outbound, smtpHostname: "mx.ada.works", dataDir: directory, ca });
      expect(finding?.seen).toContain(seen.replace("PORT", String(server.port)));
      expect(finding?.level).toBe(level);
      expect(finding?.todo ?? "").toContain(todo);
      expect(JSON.stringify(finding)).not.toContain("pass@");
      // It is asked whether it would take mail, and brought none.
      expect(server.commands.filter((command) => /^(?:MAIL|RCPT|DATA)/.test(command))).toEqual([]);
      expect(server.mails).toEqual([]);
    } finally {
      await server.close();
    }
  });

  const answers: readonly [what: string, answer: string, level: Finding["level"], seen: string, todo: string][] = [
    ["that takes our return path", "250 2.1.0 Ok", "ok", "accepts it", ""],
    ["that takes inboxes alone", "553 5.7.1 Not your address", "fail", "553 5.7.1 Not your", "RETURN_PATH=inbox"],
    ["that knows us not", "550 5.1.8 Who?", "fail", "550 5.1.8 Who?", "RETURN_PATH=inbox"],
    ["that takes nothing now", "451 4.3.0 Later", "warn", "451 4.3.0 Later", "run this again"],
    ["that hangs up", "", "warn", "does not answer", "again"],
  ];
  // `_sendCommand` and `_responseActions` are private members of the library: under other names nothing is asked.
  test.each(answers)("%s", async (_what, answer, level, seen, todo) => {
    const server = await scriptedSmtp({
      answer: (line) => (line.startsWith("MAIL") ? (answer === "" ? "reset" : answer) : undefined),
    });
    try {
      const outbound = parseOutbound(`smtp://localhost:${server.port}?tls=off`);
      if (typeof outbound === "string") throw new Error(outbound);
      const question = { outbound, smtpHostname: "mx.ada.works", dataDir: directory, mailDomain: "ada.works" };
      const [relay, finding, ...others] = await checkRelay({ ...question, returnPath: "verp" });
      expect(relay).toMatchObject({ check: "relay", level: "warn" });
      expect(finding).toMatchObject({ check: "relay return path", level, seen: expect.stringContaining(seen) });
      expect(finding?.todo ?? "").toContain(todo);
      expect(others).toEqual([]);
      const asked = server.commands.filter((command) => /^(?:MAIL|RCPT|DATA)/.test(command));
      expect(asked).toEqual([expect.stringMatching(/^MAIL FROM:<bounce\+[0-9a-z]{26}-[0-9a-z]{12}@ada\.works>$/)]);
      expect(await checkRelay({ ...question, returnPath: "inbox" })).toHaveLength(1);
    } finally {
      await server.close();
    }
  });

  const postmark = { provider: "postmark" as const, user: "u", password: "p" };
  const tellers: readonly [string, NoticeSource | undefined, Finding["level"], string][] = [
    ["is to be listened to where it tells by webhook alone", undefined, "warn", "RELAY_NOTICES=postmark:…"],
    ["is not another one", { provider: "resend", secret: "whsec_" }, "warn", "RELAY_NOTICES=postmark:…"],
    ["is listened to", postmark, "ok", ""],
  ];
  test.each(tellers)("%s", (_what, relayNotices, level, todo) => {
    const [finding] = checkNotices({ host: "smtp.postmarkapp.com" }, relayNotices);
    expect(finding?.level).toBe(level);
    expect(finding?.todo ?? "").toContain(todo);
    expect(checkNotices({ host: "email-smtp.eu-west-1.amazonaws.com" }, relayNotices)).toEqual([]);
  });

  test("that isn't there", async () => {
    const server = await scriptedSmtp();
    await server.close();
    const outbound = parseOutbound(`smtp://localhost:${server.port}`);
    if (typeof outbound === "string") throw new Error(outbound);
    const [finding] = await checkRelay({ outbound, smtpHostname: "mx.ada.works", dataDir: directory });
    expect(finding).toMatchObject({ level: "fail", seen: expect.stringContaining("connection refused") });
  });

  test("is a warning if there is none", async () => {
    const question = { smtpHostname: "mx.ada.works", dataDir: directory };
    expect(await checkRelay({ ...question, outbound: { kind: "sandbox" } })).toMatchObject([{ level: "warn" }]);
    expect(await checkRelay({ ...question, outbound: { kind: "direct" } })).toMatchObject([{ level: "ok" }]);
  });
});

describe("A webhook", () => {
  const everywhere = { allowPrivate: true };

  test("that takes connections is well, and nothing is sent to it", async () => {
    await using receiver = await disposable(startReceiver());
    const [finding] = await checkWebhooks({ ...everywhere, urls: [`${receiver.url}/secret-path`, receiver.url] });
    expect(finding).toMatchObject({ level: "ok", seen: `http://127.0.0.1:${receiver.port} accepts connections` });
    await receiver.closed(1);
    expect(receiver.requests).toEqual([]);
  });

  test("over TLS needs a certificate for its name", async () => {
    await using receiver = await disposable(startReceiver({ tls: { cert: hooksCertificate, key: hooksKey } }));
    const lookup = async () => ["127.0.0.1"];
    const ask = (host: string) =>
      checkWebhooks({ ...everywhere, urls: [`https://${host}:${receiver.port}/`], lookup, ca: testAuthority });
    expect(await ask("hooks.test")).toMatchObject([{ level: "ok" }]);
    expect(await ask("other.test")).toMatchObject([
      { level: "fail", seen: expect.stringMatching(/altnames|Hostname/i) },
    ]);
  });

  test("at a private address is refused as at a delivery, before anything is sent", async () => {
    await using receiver = await disposable(startReceiver());
    const lookup = async () => ["127.0.0.1"];
    const url = `https://hooks.ada.works:${receiver.port}/`;
    const [finding] = await checkWebhooks({ allowPrivate: false, urls: [url], lookup });
    expect(finding).toMatchObject({ level: "fail", seen: expect.stringContaining("has the address 127.0.0.1") });
    expect(receiver.connections()).toBe(0);
  });

  test.each([
    ["a judge of inbound mail", "judge", "mail is not judged"],
    ["a collector of traces", "traces", "traces are lost"],
  ] as const)("or %s: at a private address it is well, and away it is not", async (_what, check, todo) => {
    const receiver = await startReceiver();
    expect(await checkProgram(check, `${receiver.url}path`, {})).toMatchObject([{ check, level: "ok" }]);
    await receiver.close();
    expect(await checkProgram(check, receiver.url, {})).toMatchObject([
      {
        check,
        level: "fail",
        seen: expect.stringContaining("connection refused"),
        todo: expect.stringContaining(todo),
      },
    ]);
    expect(await checkProgram(check, undefined, {})).toEqual([]);
  });

  test("is not the only program that is looked at: so is the collector", async () => {
    await using collector = await disposable(startReceiver());
    const env = { PORT: "0", SMTP_PORT: "0", DATA_DIR: directory, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    expect(await diagnose(env, nobody)).toContainEqual(expect.objectContaining({ check: "traces", level: "ok" }));
  });

  test("with an unknown name, and one where nothing listens", async () => {
    const receiver = await startReceiver();
    await receiver.close();
    const lookup = () => notThere();
    const findings = await checkWebhooks({ ...everywhere, urls: ["http://nowhere.works/", receiver.url], lookup });
    expect(findings).toMatchObject([
      { level: "fail", seen: "http://nowhere.works: cannot resolve nowhere.works: ENOTFOUND" },
      { level: "fail", seen: expect.stringContaining("connection refused") },
    ]);
  });

  test("need not be set", async () => {
    expect(await checkWebhooks({ ...everywhere, urls: [] })).toMatchObject([{ level: "ok" }]);
  });
});

describe("The ports", () => {
  const places = {
    host: "127.0.0.1",
    smtpHost: "127.0.0.1",
    smtpHostname: "mx.ada.works",
    metricsPort: undefined,
    identity: { id: "ours" } as Identity,
  };

  const owners: readonly [what: string, found: string, identity: Identity, seen: string, level: Finding["level"]][] = [
    ["the service of this database", "ours", { id: "ours" }, "by a running inboxd", "ok"],
    ["the service of another one", "theirs", { id: "ours" }, "by another inboxd, not the one of this database", "fail"],
    ["any service before the first start", "theirs", "not started yet", "by another inboxd, not the", "fail"],
    ["a service, whose database can't be asked", "theirs", "unknown", "by a running inboxd", "ok"],
  ];
  test.each(owners)("belong to %s", async (_what, found, identity, seen, level) => {
    const api = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: () => Response.json({ status: "ok" }, { headers: { "x-inboxd-service": found } }),
    });
    const smtp = createServer((socket) => socket.resume().end("220 mx.ada.works ESMTP\r\n"));
    await new Promise<void>((resolve) => smtp.listen(0, "127.0.0.1", resolve));
    const { port: smtpPort } = smtp.address() as AddressInfo;
    const findings = await checkPorts({ ...places, port: api.port ?? 0, smtpPort, identity });
    expect(findings.map((finding) => finding.level)).toEqual([level, level]);
    for (const finding of findings) expect(finding.seen).toContain(`is in use ${seen}`);
    await api.stop(true);
    await new Promise((resolve) => smtp.close(resolve));
  });

  test("are free, or in use by another program", async () => {
    const server = createServer((socket) => socket.resume().end("nothing that we know\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address ? address.port : 0;
    const taken = await checkPorts({ ...places, port, smtpPort: port, metricsPort: port });
    expect(taken.map(({ level }) => level)).toEqual(["fail", "fail", "fail"]);
    expect(taken.map(({ todo }) => todo)).toEqual(
      ["PORT", "SMTP_PORT", "METRICS_PORT"].map((name) => `Stop that program, or set ${name} to another port`),
    );
    await new Promise((resolve) => server.close(resolve));
    const free = [
      ...(await checkPorts({ ...places, port, smtpPort: 0 })),
      ...(await checkPorts({ ...places, port: 0, smtpPort: port })),
    ];
    const freeOne = `ok 127.0.0.1:${port} is free`;
    const anyOne = "ok each start takes a free one";
    expect(free.map(({ level, seen }) => `${level} ${seen}`)).toEqual([freeOne, anyOne, anyOne, freeOne]);
  });

  test("can't be listened on at an address of another machine", async () => {
    const [finding] = await checkPorts({ ...places, host: "192.0.2.1", port: 3000, smtpPort: 0 });
    expect(finding).toMatchObject({ level: "fail", todo: "Set HOST to an address of this machine" });
  });
});

test("a person reads one line for each finding, the advice below it, and the counts", () => {
  const findings: Finding[] = [
    { check: "database", level: "ok", seen: "Postgres 16.4" },
    { check: "dns", level: "fail", seen: "no MX", todo: "Add: x\nor y" },
  ];
  expect(shownFindings(findings)).toBe(
    "ok    database  Postgres 16.4\nfail  dns       no MX\n                → Add: x\n                → or y\n\n1 ok, 0 to check, 1 failed\n",
  );
  expect(hasFailure(findings)).toBe(true);
  expect(hasFailure(findings.slice(0, 1))).toBe(false);
});

describe("inboxd doctor", () => {
  test("finds a server that holds the embedded database, its ports and its webhook well", async () => {
    await using receiver = await disposable(startReceiver());
    const dataDir = join(directory, "held");
    const server = await startInboxd({
      cwd: directory,
      env: { DATA_DIR: dataDir, METRICS_PORT: "0", WEBHOOK_URL: receiver.url },
    });
    try {
      const metricsPort = /^ +Metrics +http:\/\/[\d.]+:(\d+)\/metrics$/m.exec(server.printed())?.[1];
      const ports = { PORT: new URL(server.api).port, SMTP_PORT: String(server.smtpPort), METRICS_PORT: metricsPort };
      const env = { DATA_DIR: dataDir, ...ports };
      const { code, stdout, stderr } = await runInboxd(["doctor", "--json"], { cwd: directory, env });
      const { ok, findings } = JSON.parse(stdout) as { ok: boolean; findings: Finding[] };
      const seen = new Map(findings.map((finding) => [finding.check, `${finding.level} ${finding.seen}`]));
      expect(seen.get("database")).toBe(`ok embedded in ${dataDir}, opened by a running inboxd that answers`);
      expect(seen.get("port of the API")).toEndWith("in use by a running inboxd");
      expect(seen.get("port of SMTP")).toEndWith("in use by a running inboxd");
      expect(seen.get("port of metrics")).toEndWith("in use by a running inboxd");
      expect(seen.get("documents")).toStartWith("ok ");
      expect(seen.get("webhook")).toBe(`ok http://127.0.0.1:${receiver.port} accepts connections`);
      expect({ ok, code, stderr }).toEqual({ ok: true, code: 0, stderr: "" });

      const elsewhere = { ...ports, DATA_DIR: join(directory, "elsewhere") };
      const stranger = await runInboxd(["doctor", "--json"], { cwd: directory, env: elsewhere });
      const ofPorts = (JSON.parse(stranger.stdout).findings as Finding[]).filter(({ check }) =>
        check.startsWith("port"),
      );
      expect(ofPorts.map(({ level }) => level)).toEqual(["fail", "fail", "fail"]);
      for (const finding of ofPorts) expect(finding.seen).toEndWith("by another inboxd, not the one of this database");
      expect(stranger.code).toBe(1);
    } finally {
      await server.stop();
    }
  });

  test("asks the servers of DNS_SERVERS, and knows its own key of 2048 bits in the DNS, which cuts it in two", async () => {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const record = publicKeyRecord(pem);
    expect(record.length).toBeGreaterThan(255);
    const text = (name: string, ...data: string[]) => ({ name, type: "TXT" as const, ttl: 300, data });
    await using dns = await disposable(
      scriptedDns(
        zone([
          { name: "in.ada.works", type: "MX", ttl: 300, data: { preference: 10, exchange: "mx.ada.works" } },
          { name: "mx.ada.works", type: "A", ttl: 300, data: "8.8.4.4" },
          { name: "4.4.8.8.in-addr.arpa", type: "PTR", ttl: 300, data: "mx.ada.works" },
          text("in.ada.works", "google-site-verification=1"),
          text("in.ada.works", "v=spf1 mx -all"),
          text("s1._domainkey.in.ada.works", record.slice(0, 218), record.slice(218)),
          // Beside the policy so much that it takes TCP.
          text("_dmarc.in.ada.works", "v=DMARC1; p=reject"),
          ...Array.from({ length: 10 }, (_, n) => text("_dmarc.in.ada.works", `${n} ${"x".repeat(200)}`)),
        ]),
      ),
    );
    const env = {
      DATA_DIR: join(directory, "asks"),
      PORT: "0",
      SMTP_PORT: "0",
      MAIL_DOMAIN: "in.ada.works",
      SMTP_HOSTNAME: "mx.ada.works",
      OUTBOUND: "direct",
      DKIM_SELECTOR: "s1",
      DKIM_KEY: pem,
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
    };
    const { stdout } = await runInboxd(["doctor", "--json"], { cwd: directory, env });
    const { findings } = JSON.parse(stdout) as { findings: Finding[] };
    const seen = findings.filter(({ check }) => check.startsWith("dns")).map(({ check, level }) => `${level} ${check}`);
    expect(seen).toEqual(
      ["mx", "address", "ptr", "spf", "dkim", "dmarc", "resolver"].map((check) => `ok dns ${check}`),
    );
  });

  test("ends with 1 when something is wrong, and names it", async () => {
    const env = {
      DATA_DIR: join(directory, "empty"),
      PORT: "0",
      SMTP_PORT: "0",
      DATABASE_URL: "postgres://127.0.0.1:1/x",
    };
    const { code, stdout } = await runInboxd(["doctor"], { cwd: directory, env });
    expect(stdout).toMatch(/^fail +database +Cannot reach the database/m);
    expect(code).toBe(1);
  });
});

/** Closed when its test ends, however it ends. */
async function disposable<T extends { close(): unknown }>(made: Promise<T>): Promise<T & AsyncDisposable> {
  const it = await made;
  return Object.assign(it, {
    async [Symbol.asyncDispose]() {
      await it.close();
    },
  });
}
