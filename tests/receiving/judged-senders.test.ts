import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import type { Answer } from "dns-packet";
import { sql } from "drizzle-orm";
import { dkimSign } from "mailauth/lib/dkim/sign";
import { query } from "../../src/database/db.ts";
import type { InboundPolicy } from "../../src/domain/policy.ts";
import { enginesHere } from "../support/engines.ts";
import { mailOf } from "../support/mail.ts";
import { inStrings } from "../support/published.ts";
import { addRule, setPolicy } from "../support/ruled.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "der" },
});

const txt = (name: string, text: string): Answer => ({ name, type: "TXT", ttl: 300, data: inStrings(text, 255) });
const published = zone([
  txt("s1._domainkey.boss.example", `v=DKIM1; k=rsa; p=${publicKey.toString("base64")}`),
  txt("_dmarc.bank.example", "v=DMARC1; p=quarantine"),
]);

async function signed(mail: string): Promise<string> {
  const { signatures } = await dkimSign(mail, {
    canonicalization: "relaxed/relaxed",
    signTime: new Date("2026-03-21T10:05:00Z"),
    signatureData: [{ signingDomain: "boss.example", selector: "s1", privateKey }],
  } as never);
  return signatures + mail;
}

for (const engine of enginesHere()) {
  describe(`Senders are judged by what the DNS says of them (${engine})`, () => {
    let dns: ScriptedDns;
    let world: World;
    beforeAll(async () => {
      // The name servers of one domain never answer.
      dns = await scriptedDns((question) =>
        question.name.endsWith("silent.example") ? "silence" : published(question),
      );
      world = await startWorld({
        env: { DNS_SERVERS: `127.0.0.1:${dns.port}`, AUTHENTICATE: "always" },
        ...(engine === "embedded" && { database: "embedded" as const }),
      });
    });
    afterAll(async () => {
      await world[Symbol.asyncDispose]();
      await dns.close();
    });

    async function inboxWith(policy: Partial<InboundPolicy>, allowed?: string): Promise<WorldInbox> {
      const inbox = await world.inbox();
      const { api: db } = world.service.deps.db;
      const [owner] = await query<{ accountId: string }>(
        db,
        sql`select account_id as "accountId" from inboxes where id = ${inbox.id}`,
      );
      const scope = { accountId: owner?.accountId ?? "", inboxId: inbox.id };
      await setPolicy(db, { ...scope, ...policy });
      if (allowed !== undefined) await addRule(db, { ...scope, action: "allow", pattern: allowed });
      // Rules of an account are remembered for 30 seconds.
      world.clock.pass(30_000);
      return inbox;
    }

    const taken = async ({ id }: WorldInbox) =>
      (await world.api(`/v1/inboxes/${id}/messages`)).body.data.map(({ subject }: { subject: string }) => subject);
    const blocked = async ({ id }: WorldInbox) => (await world.api(`/v1/quarantine?inbox_id=${id}`)).body.data;

    test("an allow-list takes the signed mail of a domain, and the same name from anywhere else is quarantined", async () => {
      const inbox = await inboxWith({ unlisted: "block" }, "boss.example");
      const from = "The Boss <ceo@boss.example>";
      const own = await signed(mailOf({ from, subject: "Signed", messageId: "1@boss.example" }));
      const forged = mailOf({ from, subject: "Forged", messageId: "2@boss.example" });
      for (const mail of [own, forged])
        expect(await world.deliver(mail, inbox.address, "ceo@boss.example")).toStartWith("250");
      expect(await taken(inbox)).toEqual(["Signed"]);
      expect(await blocked(inbox)).toMatchObject([
        { subject: "Forged", reason: "unlisted", authentication: { verdict: "none", domain: "boss.example" } },
      ]);
      const { id } = (await blocked(inbox))[0];
      const { body } = await world.api(`/v1/quarantine/${id}/release`, { method: "POST" });
      const released = (await world.api(`/v1/messages/${body.messageId}`)).body;
      expect(released.authentication).toMatchObject({ verdict: "none", domain: "boss.example" });
    });

    test("a forged mail is blocked where the wish of its domain counts, and only there", async () => {
      const honouring = await inboxWith({ dmarc: "honour", blocked: "refuse" });
      const ignoring = await inboxWith({});
      const forged = mailOf({ from: "ceo@bank.example", subject: "Forged", messageId: "1@bank.example" });
      expect(await world.deliver(forged, honouring.address)).toStartWith("550 5.7.1");
      expect(await world.deliver(forged, ignoring.address)).toStartWith("250");
      expect([await blocked(honouring), await taken(ignoring)]).toEqual([[], ["Forged"]]);
    });

    test("a sender whose name servers are silent has to come again where that decides", async () => {
      const strict = await inboxWith({ unauthenticated: "block" });
      const open = await inboxWith({});
      const mail = mailOf({ from: "joe@silent.example", subject: "Late", messageId: "1@silent.example" });
      expect(await world.deliver(mail, strict.address, "joe@silent.example")).toStartWith("451 4.7.0");
      expect(await world.deliver(mail, open.address, "joe@silent.example")).toStartWith("250");
      expect([await blocked(strict), await taken(open)]).toEqual([[], ["Late"]]);
    });
  });
}
