import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answer } from "dns-packet";
import type { Authentication } from "../../src/domain/receive/authentication.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { inStrings } from "../support/published.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { rsaKey, signedBy } from "../support/signed-mail.ts";
import { startWorld, type World } from "../support/world.ts";

const key = rsaKey();
const txt = (name: string, text: string): Answer => ({ name, type: "TXT", ttl: 300, data: inStrings(text, 255) });
const records = [
  txt("evil.example", "v=spf1 +all"),
  txt("s1._domainkey.evil.example", key.record),
  txt("bank.example", "v=spf1 -all"),
  txt("_dmarc.bank.example", "v=DMARC1; p=reject"),
];

/** Mail of a stranger, whose own domain passes SPF and DKIM, through the whole door. */
for (const engine of enginesHere()) {
  describe(`A stranger (${engine})`, () => {
    let dns: ScriptedDns;
    let world: World;
    beforeAll(async () => {
      dns = await scriptedDns(zone(records));
      world = await startWorld({
        env: { DNS_SERVERS: `127.0.0.1:${dns.port}`, AUTHENTICATE: "always", AUTH_TIMEOUT_MS: "60000" },
        ...(engine === "embedded" && { database: "embedded" as const }),
      });
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
      await dns.close();
    });

    async function seen(mail: string): Promise<{ fromAddr: string; authentication: Authentication }> {
      const { id, address } = await world.inbox();
      expect(await world.deliver(mail, address, "x@evil.example")).toStartWith("250");
      return (await world.api(`/v1/inboxes/${id}/messages?limit=1`)).body.data[0];
    }

    const signed = (head: string) => signedBy(key, `${head}\r\nSubject: Hello\r\n\r\nHi\r\n`, { d: "evil.example" });

    const forged: readonly [says: string, head: string][] = [
      ["with the address of a bank", "From: ceo@bank.example"],
      ["with two From fields", "From: me@evil.example\r\nFrom: ceo@bank.example"],
      ["with two From fields, the bank first", "From: ceo@bank.example\r\nFrom: me@evil.example"],
      ["with two addresses", "From: ceo@bank.example, me@evil.example"],
      ["with a group of both", "From: team: ceo@bank.example, me@evil.example;"],
      ["with his own address in a comment", "From: (me@evil.example) ceo@bank.example"],
      ["with a source route", "From: <@evil.example:ceo@bank.example>"],
      ["without From", "Sender: me@evil.example"],
      [
        "with his own From behind a line that is no field",
        "From: ceo@bank.example\r\nno field\r\nFrom: me@evil.example",
      ],
      ["with his own From behind a blank line", "From: ceo@bank.example\r\n \r\nFrom: me@evil.example"],
    ];
    test.each(forged)("%s is taken, and is not the bank", async (_says, head) => {
      const { authentication } = await seen(signed(head));
      expect(authentication.verdict).toBe("fail");
    });

    const own: readonly [says: string, head: string][] = [
      ["under his own address", "From: me@evil.example"],
      ["with the bank as his name", 'From: "ceo@bank.example" <me@evil.example>'],
      ["with the bank in a comment", "From: me@evil.example (ceo@bank.example)"],
      [
        "with the bank before a carriage return, as the name of a group",
        "From: ceo@bank.example\rFrom: me@evil.example",
      ],
    ];
    test.each(own)("%s is himself", async (_says, head) => {
      const { fromAddr, authentication } = await seen(signed(head));
      expect([fromAddr, authentication.verdict, authentication.domain]).toEqual([
        "me@evil.example",
        "pass",
        "evil.example",
      ]);
    });

    test("with ten signatures in all forms over 20 MB is judged, and so is the mail beside it", async () => {
      const forms = ["simple/simple", "simple/relaxed", "relaxed/simple", "relaxed/relaxed"];
      const signatures = Array.from(
        { length: 10 },
        (_, index) =>
          `DKIM-Signature: v=1; a=rsa-sha256; c=${forms[index % 4]}; d=evil.example; s=s1; h=from; l=${index}; bh=AAAA; b=AAAA\r\n`,
      ).join("");
      const heavy = seen(
        `${signatures}${mailOf({ from: "ceo@bank.example", text: "a  b \t c\r\n \r\n".repeat(1_600_000) })}`,
      );
      const light = await seen(signed("From: me@evil.example"));
      expect(light.authentication.verdict).toBe("pass");
      expect((await heavy).authentication).toMatchObject({
        verdict: "fail",
        domain: "bank.example",
        dkim: Array(10).fill({ result: "policy", domain: "evil.example", selector: "s1", aligned: false }),
      });
    });

    test("with 500 signatures is judged by ten of them", async () => {
      const other = "DKIM-Signature: v=1; a=rsa-sha256; d=other.example; s=s1; h=from; bh=AAAA; b=AAAA\r\n".repeat(500);
      const { authentication } = await seen(`${other}${signed("From: me@evil.example")}`);
      expect(authentication.verdict).toBe("pass");
      expect(authentication.dkim).toHaveLength(20);
      expect(authentication.dkim[0]).toMatchObject({ result: "pass", domain: "evil.example" });
    });
  });
}
