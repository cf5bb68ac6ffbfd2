import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blocksOf, inWords } from "../support/documentation.ts";
import { eximPath, startEximIn } from "../support/exim.ts";
import { inboxdHere } from "../support/inboxd.ts";
import { mailOf } from "../support/mail.ts";
import { hasPostfix, startPostfixIn } from "../support/postfix.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { freePort, session } from "../support/server-in-front.ts";
import { untilSo } from "../support/until.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

if (!hasPostfix) console.log("Skipped: the pipe of Postfix, since it is not installed here for root");
if (eximPath === undefined) console.log("Skipped: the pipe of Exim, since it is not installed here for root");

const ingestToken = "the-token-of-another-mail-server-in-tests";
const guide = readFileSync(join(import.meta.dir, "../../docs/inbound-http.md"), "utf8");
const sender = "127.0.0.7";

/** A mail server that has the pipe of the guide. */
interface Server {
  port: number;
  log: string;
  /** Delivers the mail that waits. */
  runQueue(): Promise<unknown>;
  stop(): Promise<void>;
}

/** What its log says of a mail that was stored, bounced or kept, beside the recipient. */
interface Words {
  stored: string;
  bounced: string;
  kept: string;
}

const servers: readonly [
  name: string,
  isHere: boolean,
  start: (home: string, blocks: Blocks) => Promise<Server>,
  Words,
][] = [
  [
    "Postfix",
    hasPostfix,
    async (home, { texts: [services = "", settings = ""] }) => {
      const port = await freePort();
      const postfix = await startPostfixIn(home, {
        port,
        services,
        settings: ["inet_interfaces = loopback-only", "myhostname = mx.example.org", "mynetworks =", settings],
      });
      // It fails while the queue manager is busy, and is asked again.
      const runQueue = () => Bun.$`/usr/sbin/postqueue -c ${postfix.config} -f`.quiet().nothrow();
      return { port, log: join(home, "log"), runQueue, stop: postfix.stop };
    },
    { stored: "status=sent", bounced: "status=bounced", kept: "status=deferred" },
  ],
  [
    "Exim",
    eximPath !== undefined,
    async (home, { texts: [, , transport = ""] }) => {
      const port = await freePort();
      const exim = await startEximIn(home, { port, domain: "inbox.localhost", transport });
      return { port, log: join(home, "spool/main"), runQueue: exim.runQueue, stop: exim.stop };
    },
    { stored: " => ", bounced: " ** ", kept: " == " },
  ],
];

/** The blocks of the guide, with the paths and names of this test. */
interface Blocks {
  script: string;
  texts: string[];
}

function blocksIn(home: string): Blocks {
  const page = inWords(guide, {
    "/usr/local/bin": home,
    "/etc/inboxd": home,
    "user=inboxd": "user=nobody",
    "user = inboxd": "user = nobody",
    "mail.example.com": "inbox.localhost",
  });
  const blocks = blocksOf(page);
  return {
    script: blocks.find(({ text }) => text.startsWith("#!"))?.text ?? "",
    texts: blocks.filter(({ language }) => language === "text").map(({ text }) => text),
  };
}

for (const [name, isHere, start, words] of servers) {
  describe.skipIf(!isHere)(`The pipe of ${name} in the guide`, () => {
    let home: string;
    let dns: ScriptedDns;
    let world: World;
    let server: Server;
    beforeAll(async () => {
      const spf = `v=spf1 ip4:${sender} -all`;
      dns = await scriptedDns(zone([{ name: "example.com", type: "TXT", ttl: 300, data: spf }]));
      const env = { INGEST_TOKEN: ingestToken, AUTHENTICATE: "always", DNS_SERVERS: `127.0.0.1:${dns.port}` };
      world = await startWorld({ env: { ...env, SMTP_MAX_BYTES: "100000" } });
      home = mkdtempSync(join(tmpdir(), "ibx-pipe-"));
      chmodSync(home, 0o755);
      const blocks = blocksIn(home);
      putProgram(home);
      putSettings(home, world.service.apiUrl.origin);
      writeFileSync(join(home, "inboxd-pipe"), blocks.script, { mode: 0o755 });
      server = await start(home, blocks);
    });
    afterAll(async () => {
      await server.stop();
      await world[Symbol.asyncDispose]();
      await dns.close();
      rmSync(home, { recursive: true, force: true });
    });

    const setPolicy = ({ id }: WorldInbox, inbound: object) =>
      world.api(`/v1/inboxes/${id}/policy`, { method: "PUT", body: { inbound } });

    /** Resolves once the log says so of the mail to an address. */
    async function is(outcome: keyof Words, address: string): Promise<void> {
      await untilSo(async () => {
        await server.runQueue();
        const lines = existsSync(server.log) ? readFileSync(server.log, "utf8").split("\n") : [];
        return lines.some((line) => line.includes(words[outcome]) && line.includes(address));
      });
    }

    test("hands in a mail byte for byte, with its envelope and its sender's host", async () => {
      const { id, address } = await world.inbox();
      const raw = mailOf({ text: "From the start\r\n..a dot\r\nand the end\r\n" });
      await deliver(server.port, { to: address, raw });
      await is("stored", address);
      const [message] = (await world.api(`/v1/inboxes/${id}/messages`)).body.data;
      expect(message.authentication).toMatchObject({ spf: { result: "pass" }, clientAddress: sender });
      const stored = await (await world.fetch(`/v1/messages/${message.id}/raw`)).text();
      expect(stored).toStartWith("Received: ");
      expect(stored.replaceAll("\r\n", "\n")).toEndWith(raw.replaceAll("\r\n", "\n"));
    });

    test("hands in a bounce with its empty sender", async () => {
      const inbox = await world.inbox();
      await setPolicy(inbox, { unlisted: "block" });
      await deliver(server.port, { to: inbox.address, from: "" });
      await is("stored", inbox.address);
      expect((await world.api("/v1/quarantine")).body.data).toMatchObject([{ envelopeFrom: "" }]);
    });

    test("bounces what inboxd refuses", async () => {
      const [large, refusing] = [await world.inbox(), await world.inbox()];
      await setPolicy(refusing, { unlisted: "block", blocked: "refuse" });
      await deliver(server.port, { to: "nobody@inbox.localhost" });
      await deliver(server.port, { to: large.address, raw: mailOf({ text: `${"x".repeat(70)}\r\n`.repeat(1500) }) });
      await deliver(server.port, { to: refusing.address });
      for (const address of ["nobody@inbox.localhost", large.address, refusing.address]) await is("bounced", address);
    });

    const repairSettings = () => putSettings(home, world.service.apiUrl.origin);
    const outages: readonly [what: string, begin: () => void, end: () => void][] = [
      ["the service is away", () => putSettings(home, "http://127.0.0.1:1"), repairSettings],
      ["the key is wrong", () => putSettings(home, world.service.apiUrl.origin, "a-wrong-key"), repairSettings],
      ["the settings are missing", () => rmSync(join(home, "pipe.env")), repairSettings],
      ["the program is missing", () => rmSync(join(home, "inboxd")), () => putProgram(home)],
    ];
    test.each(outages)("keeps a mail while %s, and hands it in later", async (_what, begin, end) => {
      const { id, address } = await world.inbox();
      begin();
      await deliver(server.port, { to: address });
      await is("kept", address);
      end();
      await is("stored", address);
      expect((await world.api(`/v1/inboxes/${id}/messages`)).body.total).toBe(1);
    });
  });
}

/** Puts `inboxd` where the user of the pipe can start it. */
function putProgram(home: string): void {
  const [program = "", ...words] = inboxdHere;
  if (words.length === 0) copyFileSync(program, join(home, "inboxd"));
  else writeFileSync(join(home, "inboxd"), `#!/bin/sh\nexec ${inboxdHere.join(" ")} "$@"\n`);
  chmodSync(join(home, "inboxd"), 0o755);
}

function putSettings(home: string, url: string, key = ingestToken): void {
  writeFileSync(join(home, "pipe.env"), `INBOXD_URL=${url}\nINBOXD_API_KEY=${key}\n`);
}

interface Mail {
  to: string;
  from?: string;
  raw?: string;
}

async function deliver(port: number, { to, from = "jane@example.com", raw = mailOf() }: Mail) {
  const smtp = await session(port, sender);
  for (const line of ["EHLO mail.example.com", `MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, "DATA"])
    expect(await smtp.ask(line)).toMatch(/^[23]/);
  // A line that begins with a dot gets another one (RFC 5321 §4.5.2).
  expect(await smtp.ask(`${raw.replace(/^\./gm, "..")}.`)).toStartWith("250");
  smtp.destroy();
}
