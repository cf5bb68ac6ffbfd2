import { expect, test } from "bun:test";
import { findSenders } from "../../../src/store/upkeep/diagnosis.ts";
import { mailOf } from "../../support/mail.ts";
import { scriptedDns, zone } from "../../support/scripted-dns.ts";
import { startWorld } from "../../support/world.ts";

test("the doctor sees from which addresses the last mails from outside came", async () => {
  const dns = await scriptedDns(zone([]));
  await using world = await startWorld({ env: { AUTHENTICATE: "always", DNS_SERVERS: `127.0.0.1:${dns.port}` } });
  const { db } = world.service.deps;
  expect(await findSenders(db.api)).toEqual({ mails: 0, checked: 0, addresses: [] });
  const { id } = await world.inbox("ada");
  for (const number of [1, 2, 3]) {
    await world.deliver(mailOf({ messageId: `<sender-${number}@x.example>` }), "ada@inbox.localhost");
  }
  // Mail between our own inboxes says nothing about a balancer.
  await world.api("/v1/send", {
    method: "POST",
    body: { inboxId: id, to: "ada@inbox.localhost", subject: "Hi", text: "Hi" },
  });
  expect(await findSenders(db.api)).toEqual({ mails: 3, checked: 3, addresses: ["127.0.0.1"] });
  await dns.close();
});
