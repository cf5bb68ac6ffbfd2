import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { resealSecrets, sealingOf } from "../../../src/flows/account/sealed-secrets.ts";
import { webhookFault } from "../../../src/standards/signature.ts";
import { rowOfDomainKey } from "../../../src/store/account/sealed-secrets.ts";
import { failureOf } from "../../support/failure.ts";
import { insertOwnDomain } from "../../support/own-domain.ts";
import { startReceiver } from "../../support/receiver.ts";
import { startWorld } from "../../support/world.ts";

const [first, second] = ["the first key, long enough to be one", "another key, which is long enough too"];
const randomBytes = (length: number) => crypto.getRandomValues(new Uint8Array(length));

test("secrets are sealed in the database, sign as before, and are sealed again with the next key", async () => {
  await using world = await startWorld({ env: { ENCRYPTION_KEY: first } });
  const receiver = await startReceiver();
  const { db } = world.service.deps;
  const stored = async () =>
    (await query<{ secret: string }>(db.api, sql`select secret from endpoints order by id`)).map(
      ({ secret }) => secret,
    );

  const set = await world.api("/v1/webhook", { method: "PUT", body: { url: receiver.url } });
  const secret = (await world.api("/v1/webhook/rotate-secret", { method: "POST", body: { overlapSeconds: 0 } })).body
    .secret as string;
  const added = await world.api("/v1/webhooks", { method: "POST", body: { url: receiver.url, eventTypes: ["*"] } });
  expect(set.body.secret).toStartWith("whsec_");
  expect(added.body.secretLast4).toBe(added.body.secret.slice(-4));
  expect((await world.api("/v1/webhook")).body.secretLast4).toBe(secret.slice(-4));
  for (const each of await stored()) expect(each).toStartWith("ibs1.");

  await world.api("/v1/webhook/test", { method: "POST", body: {} });
  const request = await receiver.request(1);
  await receiver.close();
  expect(
    await webhookFault({ headers: request.headers, body: request.body, secret, now: world.clock.now() }),
  ).toBeUndefined();

  const domain = await insertOwnDomain(db.api, { accountId: "acc_1", name: "one.example" });
  const next = await sealingOf(db.api, { encryptionKey: second, encryptionKeyPrevious: first }, randomBytes);
  expect(await resealSecrets({ db, sealing: next })).toBe(4);
  expect(await resealSecrets({ db, sealing: next })).toBe(0);
  const alone = await sealingOf(db.api, { encryptionKey: second, encryptionKeyPrevious: undefined }, randomBytes);
  const [key] = await query<{ privateKey: string }>(db.api, sql`select private_key as "privateKey" from domain_keys`);
  expect(alone.open(key?.privateKey ?? "", rowOfDomainKey({ domainId: domain.id, ...domain }))).toBe(domain.privateKey);

  const plain = await sealingOf(db.api, { encryptionKey: undefined, encryptionKeyPrevious: second }, randomBytes);
  expect(
    String(await failureOf(sealingOf(db.api, { encryptionKey: first, encryptionKeyPrevious: undefined }, randomBytes))),
  ).toContain("another ENCRYPTION_KEY sealed them");
  expect(await resealSecrets({ db, sealing: plain })).toBe(4);
  expect(await stored()).toEqual([secret, added.body.secret]);
});
