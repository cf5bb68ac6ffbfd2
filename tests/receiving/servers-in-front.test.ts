import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Authentication } from "../../src/domain/receive/authentication.ts";
import { hasHaproxy, startHaproxy } from "../support/haproxy.ts";
import { mailOf } from "../support/mail.ts";
import { hasPostfix, startPostfixIn } from "../support/postfix.ts";
import type { RawSmtp } from "../support/raw-smtp.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { freePort, session } from "../support/server-in-front.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

if (!hasHaproxy) console.log("Skipped: HAProxy in front, since its program is not here");
if (!hasPostfix) console.log("Skipped: Postfix in front, since it is not installed here for root");

const sender = "127.0.0.7";
let dns: ScriptedDns;
beforeAll(async () => {
  dns = await scriptedDns(
    zone([
      { name: "example.com", type: "TXT", ttl: 300, data: `v=spf1 ip4:${sender} -all` },
      { name: "_dmarc.example.com", type: "TXT", ttl: 300, data: "v=DMARC1; p=reject" },
    ]),
  );
});
afterAll(() => dns.close());

function worldBehind(env: Record<string, string>): Promise<World> {
  return startWorld({ env: { AUTHENTICATE: "always", DNS_SERVERS: `127.0.0.1:${dns.port}`, ...env } });
}

let mails = 0;

async function deliver(smtp: RawSmtp, tls = false): Promise<void> {
  mails += 1;
  await smtp.ask("EHLO sender.example.com");
  if (tls) {
    expect(await smtp.ask("STARTTLS")).toStartWith("220");
    await smtp.secure();
    await smtp.ask("EHLO sender.example.com");
  }
  for (const command of ["MAIL FROM:<jane@example.com>", "RCPT TO:<ada@inbox.localhost>", "DATA"])
    expect(await smtp.ask(command)).toMatch(/^[23]/);
  const raw = mailOf({ messageId: `<front-${mails}@example.com>` });
  expect(await smtp.ask(`${raw}\r\n.`)).toStartWith("250");
  smtp.destroy();
}

/** The authentication of the mails of an inbox, the oldest first, once there are this many. */
async function sendersOf(world: World, { id }: WorldInbox, count: number) {
  const { data } = await untilAnswered(async () => {
    const { body } = await world.api(`/v1/inboxes/${id}/messages`);
    return body.total === count ? body : undefined;
  });
  return data
    .map(({ authentication }: { authentication: Authentication }) => authentication)
    .map(({ verdict, spf, clientAddress, tls }: Authentication) => [verdict, spf.result, clientAddress, tls])
    .toReversed();
}

describe.skipIf(!hasHaproxy)("Behind HAProxy", () => {
  test.each([["send-proxy"], ["send-proxy-v2"], ["send-proxy-v2 check inter 10ms"]])(
    "with %s, the sender's address is seen, before and after STARTTLS",
    async (words) => {
      await using world = await worldBehind({ TRUSTED_PROXIES: "127.0.0.1", SMTP_PROXY_PROTOCOL: "1" });
      const inbox = await world.inbox("ada");
      const port = await freePort();
      const haproxy = startHaproxy(port, world.smtpPort, words);
      try {
        await deliver(await session(port, sender));
        await deliver(await session(port, sender), true);
        await deliver(await session(port, "127.0.0.8"));
      } finally {
        await haproxy.stop();
      }
      expect(await sendersOf(world, inbox, 3)).toEqual([
        ["pass", "pass", sender, false],
        ["pass", "pass", sender, true],
        ["fail", "fail", "127.0.0.8", false],
      ]);
    },
  );

  test("without the protocol, the sender's address is unknown", async () => {
    await using open = await worldBehind({ TRUSTED_PROXIES: "127.0.0.1" });
    const inbox = await open.inbox("ada");
    const port = await freePort();
    const haproxy = startHaproxy(port, open.smtpPort, "");
    try {
      await deliver(await session(port, sender));
    } finally {
      await haproxy.stop();
    }
    expect(await sendersOf(open, inbox, 1)).toEqual([["fail", "none", null, false]]);
  });
});

describe.skipIf(!hasPostfix)("Behind Postfix", () => {
  test("the sender's address is that of its Received field", async () => {
    const home = mkdtempSync(join(tmpdir(), "ibx-front-"));
    chmodSync(home, 0o755);
    const port = await freePort();
    await using world = await worldBehind({ TRUSTED_RELAYS: "127.0.0.1" });
    const inbox = await world.inbox("ada");
    const postfix = await startPostfixIn(home, {
      port,
      settings: [
        "inet_interfaces = loopback-only",
        "myhostname = mx.example.org",
        "mynetworks = 127.0.0.1/32",
        "relay_domains = inbox.localhost",
        "smtpd_relay_restrictions = reject_unauth_destination",
        "smtpd_recipient_restrictions = reject_unauth_destination, reject_unverified_recipient",
        `transport_maps = inline:{ {inbox.localhost = smtp:[127.0.0.1]:${world.smtpPort}} }`,
        "smtp_tls_security_level = none",
        // It asks for a new recipient here, and waits for the answer for two minutes instead of nine seconds.
        "address_verify_poll_count = 120",
        "address_verify_poll_delay = 1s",
      ],
    });
    try {
      await deliver(await session(port, sender));
      expect(await sendersOf(world, inbox, 1)).toEqual([["pass", "pass", sender, false]]);
      await deliver(await session(port, "127.0.0.8"));
      expect(await sendersOf(world, inbox, 2)).toEqual([
        ["pass", "pass", sender, false],
        ["fail", "fail", "127.0.0.8", false],
      ]);
      const nobody = await session(port, sender);
      await nobody.ask("EHLO sender.example.com");
      await nobody.ask("MAIL FROM:<jane@example.com>");
      expect(await nobody.ask("RCPT TO:<nobody@inbox.localhost>")).toMatch(/^[45]50/);
      nobody.destroy();
    } finally {
      await postfix.stop();
      rmSync(home, { recursive: true, force: true });
    }
  }, 90_000);
});
