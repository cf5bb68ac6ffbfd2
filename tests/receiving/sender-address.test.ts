import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answer } from "dns-packet";
import type { Authentication } from "../../src/domain/receive/authentication.ts";
import { mailOf } from "../support/mail.ts";
import { rawSmtp } from "../support/raw-smtp.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { startWorld, type World } from "../support/world.ts";

const records: Answer[] = [
  { name: "example.com", type: "TXT", ttl: 300, data: "v=spf1 ip4:8.8.8.8 -all" },
  { name: "_dmarc.example.com", type: "TXT", ttl: 300, data: "v=DMARC1; p=reject" },
];

let dns: ScriptedDns;
beforeAll(async () => {
  dns = await scriptedDns(zone(records));
});
afterAll(() => dns.close());

/** A world that checks mail as a public service does. Its relay is never used. */
function worldBehind(env: Record<string, string>): Promise<World> {
  return startWorld({
    env: { AUTHENTICATE: "auto", OUTBOUND: "smtp://127.0.0.1:9?tls=off", DNS_SERVERS: `127.0.0.1:${dns.port}`, ...env },
  });
}

let mails = 0;

/** Hands in a mail from example.com after these bytes, and returns its authentication. */
async function senderOf(world: World, { start = "", head = "" }): Promise<Authentication | null> {
  mails += 1;
  const { id } = await world.inbox(`ada${mails}`);
  const raw = mailOf({ from: "jane@example.com", messageId: `<from-${mails}@example.com>` });
  const smtp = await rawSmtp(world.service.smtp.port);
  smtp.send(start);
  await smtp.reply();
  await smtp.ask("EHLO client.example");
  for (const command of ["MAIL FROM:<jane@example.com>", `RCPT TO:<ada${mails}@inbox.localhost>`, "DATA"]) {
    await smtp.ask(command);
  }
  expect(await smtp.ask(`${head}${raw}\r\n.`)).toStartWith("250");
  smtp.destroy();
  return (await world.api(`/v1/inboxes/${id}/messages`)).body.data[0].authentication;
}

const said = (found: Authentication | null) => found && [found.verdict, found.spf.result, found.clientAddress];

describe("SPF is judged by the address", () => {
  test("that the PROXY header of a trusted proxy names", async () => {
    await using world = await worldBehind({ TRUSTED_PROXIES: "127.0.0.1", SMTP_PROXY_PROTOCOL: "1" });
    const header = (address: string) => ({ start: `PROXY TCP4 ${address} 127.0.0.1 50000 25\r\n` });
    expect(said(await senderOf(world, header("8.8.8.8")))).toEqual(["pass", "pass", "8.8.8.8"]);
    expect(said(await senderOf(world, header("9.9.9.9")))).toEqual(["fail", "fail", "9.9.9.9"]);
    expect(said(await senderOf(world, header("10.0.0.9")))).toBeNull();
    expect(said(await senderOf(world, { start: "PROXY UNKNOWN\r\n" }))).toEqual(["fail", "none", null]);
  });

  test("of nobody, if the proxy hides it", async () => {
    await using world = await worldBehind({ TRUSTED_PROXIES: "127.0.0.1" });
    expect(said(await senderOf(world, {}))).toEqual(["fail", "none", null]);
  });

  test("in the Received field of a trusted relay", async () => {
    await using world = await worldBehind({ TRUSTED_RELAYS: "127.0.0.0/8" });
    const received = (address: string) => ({
      head: `Received: from sender.example (mail.example.com [${address}])\r\n\tby mx.example.org (Postfix) with ESMTPS id 1; Sat\r\n`,
    });
    const found = await senderOf(world, received("8.8.8.8"));
    expect(said(found)).toEqual(["pass", "pass", "8.8.8.8"]);
    expect(found?.tls).toBe(true);
    expect(said(await senderOf(world, received("9.9.9.9")))).toEqual(["fail", "fail", "9.9.9.9"]);
    expect(said(await senderOf(world, {}))).toEqual(["fail", "none", null]);
  });
});
