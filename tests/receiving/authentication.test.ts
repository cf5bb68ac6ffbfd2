import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import type { Answer } from "dns-packet";
import { dkimSign } from "mailauth/lib/dkim/sign";
import type { Authentication } from "../../src/domain/receive/authentication.ts";
import { plain, returnedMail } from "../mail/report/fixtures.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { readMetrics } from "../support/metrics.ts";
import { inStrings } from "../support/published.ts";
import { rawSmtp } from "../support/raw-smtp.ts";
import { eventsOf, report, sent, signingKey } from "../support/reported.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { send } from "../support/sends.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "der" },
});

const txt = (name: string, text: string): Answer => ({ name, type: "TXT", ttl: 300, data: inStrings(text, 255) });
const records = [
  txt("example.com", "v=spf1 ip4:127.0.0.1 ip4:8.8.8.8 -all"),
  txt("_dmarc.example.com", "v=DMARC1; p=reject"),
  txt("s1._domainkey.example.com", `v=DKIM1; k=rsa; p=${publicKey.toString("base64")}`),
  txt("bank.example", "v=spf1 -all"),
  txt("_dmarc.bank.example", "v=DMARC1; p=quarantine"),
];

/** The mail with a signature of example.com before it, by another library than ours. */
async function signed(mail: string): Promise<string> {
  const { signatures } = await dkimSign(mail, {
    canonicalization: "relaxed/relaxed",
    signTime: new Date("2026-03-21T10:05:00Z"),
    signatureData: [{ signingDomain: "example.com", selector: "s1", privateKey }],
  } as never);
  return signatures + mail;
}

for (const engine of enginesHere()) {
  describe(`Who sent a mail (${engine})`, () => {
    let dns: ScriptedDns;
    beforeAll(async () => {
      dns = await scriptedDns(zone(records));
    });
    afterAll(() => dns.close());

    async function worldWith(env: Record<string, string>): Promise<World> {
      return startWorld({
        env: { DNS_SERVERS: `127.0.0.1:${dns.port}`, ...env },
        ...(engine === "embedded" && { database: "embedded" as const }),
      });
    }

    /** The authentication of the last mail of an inbox. */
    async function lastOf(world: World, { id }: WorldInbox): Promise<Authentication | null> {
      return (await world.api(`/v1/inboxes/${id}/messages?limit=1&direction=inbound`)).body.data[0].authentication;
    }

    describe("where all mail is checked", () => {
      let world: World;
      beforeAll(async () => {
        world = await worldWith({ AUTHENTICATE: "always", METRICS_PORT: "0", SIGNING_KEY: signingKey });
      });
      afterAll(() => world[Symbol.asyncDispose]());

      async function arrived(mail: string, from?: string): Promise<Authentication | null> {
        const inbox = await world.inbox();
        expect(await world.deliver(mail, inbox.address, from)).toStartWith("250");
        return lastOf(world, inbox);
      }

      test("a mail from a host that its domain names passes", async () => {
        expect(await arrived(mailOf())).toEqual({
          verdict: "pass",
          domain: "example.com",
          internal: false,
          spf: { result: "pass", domain: "example.com", aligned: true },
          dkim: [],
          dmarc: { result: "pass", policy: "reject" },
          arc: { result: "none", sealers: [] },
          source: "checked",
          clientAddress: "127.0.0.1",
          tls: false,
        });
      });

      test("a mail that its domain signed passes, from any host, small or large", async () => {
        const dkim = [{ result: "pass", domain: "example.com", selector: "s1", aligned: true }];
        for (const text of ["Hello Ada\r\n", `${"Lorem ipsum dolor ".repeat(4)}\r\n`.repeat(8000)]) {
          const mail = await signed(mailOf({ text, messageId: `${text.length}@example.com` }));
          expect(await arrived(mail, "bounces@other.example")).toMatchObject({
            verdict: "pass",
            spf: { result: "none", domain: "other.example", aligned: false },
            dkim,
          });
        }
      });

      test("a mail in the name of a bank is taken, and fails", async () => {
        const forged = mailOf({ from: "Bank <ceo@bank.example>" });
        for (const from of ["ceo@bank.example", "mallory@example.com", ""]) {
          expect(await arrived(forged, from)).toMatchObject({
            verdict: "fail",
            domain: "bank.example",
            dmarc: { result: "fail", policy: "quarantine" },
          });
        }
        const claimed = `Authentication-Results: inbox.localhost; spf=pass smtp.mailfrom=bank.example; dmarc=pass header.from=bank.example\r\n${forged}`;
        expect(await arrived(claimed)).toMatchObject({ verdict: "fail", source: "checked" });
      });

      test("a mail of a domain that publishes nothing has the verdict none", async () => {
        expect(await arrived(mailOf({ from: "joe@quiet.example" }), "joe@quiet.example")).toMatchObject({
          verdict: "none",
          domain: "quiet.example",
          dmarc: { result: "none", policy: null },
        });
      });

      test("a mail to several inboxes is checked once, and says the same in each", async () => {
        const before = (await readMetrics(world)).get('inboxd_authentications_total{verdict="pass"}') ?? 0;
        const inboxes = [await world.inbox(), await world.inbox()];
        await world.deliver(
          mailOf(),
          inboxes.map(({ address }) => address),
        );
        for (const inbox of inboxes) expect(await lastOf(world, inbox)).toMatchObject({ verdict: "pass" });
        const metrics = await readMetrics(world);
        expect(metrics.get('inboxd_authentications_total{verdict="pass"}')).toBe(before + 1);
        expect(metrics.get("inboxd_authentication_seconds_count")).toBeGreaterThan(0);
      });

      test("many mails of one new domain ask for each of its names once", async () => {
        const inbox = await world.inbox();
        const asked = dns.questions.length;
        const mails = Array.from({ length: 30 }, (_, number) =>
          mailOf({ from: "ann@fresh.example", messageId: `${number}@fresh.example` }),
        );
        await Promise.all(mails.map((mail) => world.deliver(mail, inbox.address, "ann@fresh.example")));
        const questions = dns.questions.slice(asked).map(({ name, type }) => `${name} ${type}`);
        expect(questions).toContain("_dmarc.fresh.example TXT");
        expect(questions.toSorted()).toEqual([...new Set(questions)].toSorted());
      });

      test("a mail of another inbox here passes without a question to the DNS", async () => {
        const [ada, bob] = [await world.inbox(), await world.inbox()];
        const asked = dns.questions.length;
        await send(world, bob.id, { to: ada.address }, { waits: true });
        expect(await lastOf(world, ada)).toEqual({
          verdict: "pass",
          domain: null,
          internal: true,
          spf: { result: "none", domain: null, aligned: false },
          dkim: [],
          dmarc: { result: "none", policy: null },
          arc: { result: "none", sealers: [] },
          source: "checked",
          clientAddress: null,
          tls: false,
        });
        expect(dns.questions.length).toBe(asked);
      });

      test("a mail to a return path is checked only if it is no report", async () => {
        const inbox = await world.inbox();
        const { returnPath } = await sent(world, inbox.id, "max@v.example");
        const asked = dns.questions.length;
        const bounce = plain(`Hello

<max@v.example>: 550 5.1.1 User unknown

${returnedMail}`);
        expect(await report(world, bounce, returnPath)).toStartWith("250");
        expect(dns.questions.length).toBe(asked);
        expect(await eventsOf(world, "message.bounced")).toHaveLength(1);
        const away = mailOf({
          headers: ["Auto-Submitted: auto-replied"],
          subject: "Away",
          messageId: "away@example.com",
        });
        expect(await report(world, away, returnPath, "jane@example.com")).toStartWith("250");
        expect(await lastOf(world, inbox)).toMatchObject({ verdict: "pass", domain: "example.com" });
      });

      test("the log has the verdict", () => {
        const lines = world.log.filter(({ msg }) => msg === "mail received");
        expect(new Set(lines.map(({ verdict }) => verdict))).toEqual(new Set(["pass", "fail", "none"]));
      });
    });

    describe("where mail from the internet is checked", () => {
      const relay = { OUTBOUND: "smtp://127.0.0.1:9" };
      const proxied = { TRUSTED_PROXIES: "127.0.0.1", SMTP_PROXY_PROTOCOL: "1" };

      /** Hands in a mail by a proxy that names its client. */
      async function deliverFrom(world: World, address: string, to: string): Promise<void> {
        const client = await rawSmtp(world.smtpPort);
        client.send(`PROXY TCP4 ${address} 127.0.0.1 50000 25\r\n`);
        await client.reply();
        for (const line of ["EHLO mx.example.com", "MAIL FROM:<jane@example.com>", `RCPT TO:<${to}>`, "DATA"]) {
          await client.ask(line);
        }
        expect(await client.ask(`${mailOf({ messageId: `${address}@example.com` })}\r\n.`)).toStartWith("250");
        client.destroy();
      }

      test("a client with a public address is checked, and a private one is not", async () => {
        await using world = await worldWith({ ...relay, ...proxied });
        const inbox = await world.inbox();
        await deliverFrom(world, "8.8.8.8", inbox.address);
        expect(await lastOf(world, inbox)).toMatchObject({ verdict: "pass", clientAddress: "8.8.8.8" });
        await deliverFrom(world, "8.8.4.4", inbox.address);
        expect(await lastOf(world, inbox)).toMatchObject({ verdict: "fail", clientAddress: "8.8.4.4" });
        const asked = dns.questions.length;
        for (const address of ["192.168.1.7", "10.1.2.3"]) {
          await deliverFrom(world, address, inbox.address);
          expect(await lastOf(world, inbox)).toBeNull();
        }
        expect(dns.questions.length).toBe(asked);
      });

      test("a client behind a proxy that does not name it is checked without its address", async () => {
        await using world = await worldWith({ ...relay, TRUSTED_PROXIES: "127.0.0.1" });
        const inbox = await world.inbox();
        await world.deliver(await signed(mailOf()), inbox.address);
        expect(await lastOf(world, inbox)).toMatchObject({
          verdict: "pass",
          spf: { result: "none", aligned: false },
          clientAddress: null,
        });
        await world.deliver(mailOf({ from: "ceo@bank.example" }), inbox.address, "ceo@bank.example");
        expect(await lastOf(world, inbox)).toMatchObject({ verdict: "fail", spf: { result: "none" } });
      });

      test("a trusted relay names the host that sent the mail, and its own results count if they are trusted too", async () => {
        await using world = await worldWith({
          ...relay,
          TRUSTED_RELAYS: "127.0.0.0/8",
          TRUSTED_AUTHSERV_IDS: "mx.here",
        });
        const inbox = await world.inbox();
        const received = (address: string) =>
          `Received: from mx.example.com (mx.example.com [${address}])\r\n\tby mx.here (Postfix) with ESMTPS id 4F5x; Sat, 21 Mar 2026 10:05:00 +0000`;
        const mail = (number: number, ...headers: string[]) =>
          `${headers.join("\r\n")}\r\n${mailOf({ messageId: `${number}@example.com` })}`;
        await world.deliver(mail(1, received("8.8.8.8")), inbox.address);
        expect(await lastOf(world, inbox)).toMatchObject({
          verdict: "pass",
          clientAddress: "8.8.8.8",
          source: "checked",
        });
        await world.deliver(mail(2, received("8.8.4.4")), inbox.address);
        expect(await lastOf(world, inbox)).toMatchObject({ verdict: "fail", clientAddress: "8.8.4.4" });
        const results = (server: string) => `Authentication-Results: ${server}; spf=pass smtp.mailfrom=example.com`;
        await world.deliver(mail(3, results("mx.here"), received("8.8.4.4")), inbox.address);
        expect(await lastOf(world, inbox)).toMatchObject({ verdict: "pass", source: "upstream" });
        await world.deliver(mail(4, results("mx.elsewhere"), received("8.8.4.4")), inbox.address);
        expect(await lastOf(world, inbox)).toMatchObject({ verdict: "fail", source: "checked" });
        await world.deliver(mail(5, received("192.168.1.7")), inbox.address);
        expect(await lastOf(world, inbox)).toBeNull();
      });

      test.each([
        ["in sandbox mode", proxied],
        ["with AUTHENTICATE=off", { ...relay, ...proxied, AUTHENTICATE: "off" }],
      ])("nothing is checked %s", async (_, env) => {
        await using world = await worldWith(env);
        const inbox = await world.inbox();
        const asked = dns.questions.length;
        await deliverFrom(world, "8.8.8.8", inbox.address);
        expect(await lastOf(world, inbox)).toBeNull();
        expect(dns.questions.length).toBe(asked);
      });
    });

    test("a mail is taken in time although no name server answers, and its verdict is temperror", async () => {
      await using silent = await silentDns();
      await using world = await worldWith({
        AUTHENTICATE: "always",
        AUTH_TIMEOUT_MS: "300",
        DNS_SERVERS: `127.0.0.1:${silent.port}`,
      });
      const inbox = await world.inbox();
      const replies = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          world.deliver(mailOf({ messageId: `${index}@example.com` }), inbox.address),
        ),
      );
      for (const reply of replies) expect(reply).toStartWith("250");
      const { body } = await world.api(`/v1/inboxes/${inbox.id}/messages`);
      expect(body.data.map((message: { authentication: Authentication }) => message.authentication.verdict)).toEqual(
        Array(10).fill("temperror"),
      );
      expect(silent.questions.length).toBeGreaterThan(0);
    });
  });
}

async function silentDns() {
  const dns = await scriptedDns(() => "silence");
  return Object.assign(dns, { [Symbol.asyncDispose]: dns.close });
}
