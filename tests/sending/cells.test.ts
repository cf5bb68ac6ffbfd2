import { afterAll, beforeAll, expect, test } from "bun:test";
import { withCellPeers } from "../../src/flows/send/cell-peers.ts";
import { bytesBody } from "../../src/relay/relayed-mail.ts";
import { findAccountOfKey } from "../../src/store/account/keys.ts";
import { webhookClient } from "../../src/webhook/client.ts";
import { mailHander } from "../../src/webhook/hand-over.ts";
import { type CellFront, cellFront, cellToken } from "../support/cells.ts";
import { insertOwnDomain } from "../support/own-domain.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { newInbox, send } from "../support/sends.ts";
import { untilAnswered } from "../support/until.ts";
import { startWorld, type World } from "../support/world.ts";

let dns: ScriptedDns;
let front: CellFront;
/** The sending cell, and the other one. */
let here: World;
let there: World;
let inboxId: string;
let bob: string;
let own: string;
beforeAll(async () => {
  dns = await scriptedDns(
    zone([{ name: "own.example", type: "MX", ttl: 300, data: { preference: 10, exchange: "c1.example" } }]),
  );
  front = cellFront();
  there = await startWorld({ env: { MAIL_DOMAIN: "c1.example", CELL: "01", INGEST_TOKEN: cellToken } });
  front.behind = there;
  here = await startWorld({
    env: {
      MAIL_DOMAIN: "c0.example",
      CELL_PEERS: `c1.example=${front.origin}`,
      INGEST_TOKEN: cellToken,
      DNS_SERVERS: `127.0.0.1:${dns.port}`,
    },
  });
  inboxId = await newInbox(here, here.apiKey, "ada");
  bob = await newInbox(there, there.apiKey, "bob");
  const [key] = (await there.api("/v1/keys")).body.data;
  const { db } = there.service.deps;
  const account = await findAccountOfKey(db.api, key.id);
  await insertOwnDomain(db.api, { accountId: account?.id ?? "", name: "own.example" });
  const made = await there.api("/v1/inboxes", { method: "POST", body: { username: "box", domain: "own.example" } });
  expect(made.status).toBe(201);
  own = made.body.id;
}, 60_000);
afterAll(async () => {
  await here[Symbol.asyncDispose]();
  await there[Symbol.asyncDispose]();
  front[Symbol.dispose]();
  await dns.close();
});

const statusOf = async (id: string) => (await here.api(`/v1/messages/${id}`)).body;

async function mailIn(id: string): Promise<{ subject: string; from: string }[]> {
  return (await there.api(`/v1/inboxes/${id}/messages`)).body.data;
}

test("mail for addresses of another cell goes there by HTTP, once, though the cell is away and its answers are lost", async () => {
  front.mode = "away";
  const to = ["bob@c1.example", "box@own.example", "jane@outside.example"];
  const { body } = await send(here, inboxId, { to, subject: "To the other cell" }, { waits: true });
  const sent = (address: string) => async () => {
    const { recipients } = await statusOf(body.messageId);
    const found = recipients.find((each: { address: string }) => each.address === address);
    return found.status === "sent" ? true : undefined;
  };
  await untilAnswered(sent("jane@outside.example"));
  expect(await mailIn(bob)).toEqual([]);
  front.mode = "lost";
  here.clock.pass(3_600_000);
  await untilAnswered(async () => ((await mailIn(bob)).length === 1 && (await mailIn(own)).length === 1) || undefined);
  front.mode = "pass";
  here.clock.pass(3_600_000);
  for (const address of to) await untilAnswered(sent(address));
  for (const id of [bob, own]) {
    const mail = await mailIn(id);
    expect(mail.map(({ subject }) => subject)).toEqual(["To the other cell"]);
  }
  // One request for both at each attempt.
  expect(front.requests).toEqual(["/v1/inbound", "/v1/inbound", "/v1/inbound"]);
}, 60_000);

test("mail for an address that the other cell does not have fails", async () => {
  const { body } = await send(here, inboxId, { to: "nobody@c1.example" }, { waits: true });
  expect(body.status).toBe("failed");
  expect((await statusOf(body.messageId)).failure).toMatchObject({ code: 550, enhancedCode: "5.1.1" });
}, 60_000);

test("a mail that may no longer be sent when its turn comes is not handed over", async () => {
  const client = webhookClient({ allowPrivate: true, version: "0" });
  const requests = front.requests.length;
  const unused = async () => expect.unreachable();
  const way = withCellPeers(
    { send: unused, describe: () => "", serverOf: () => "", close: async () => undefined },
    {
      peers: [{ host: "c1.example", url: front.origin }],
      handOver: mailHander({ client, token: cellToken, cell: "00" }),
      lookUp: { resolver: { resolveMx: unused, resolve4: unused, resolve6: unused }, random: () => 0, dnsMs: 1 },
    },
  );
  const callingOff = new AbortController();
  const mail = {
    envelopeFrom: "ada@c0.example",
    recipients: [{ address: "bob@c1.example" }],
    body: bytesBody(new TextEncoder().encode("Subject: x\r\n\r\nx\r\n")),
    smtpUtf8: false,
    lookAgain: async () => callingOff.abort(),
  };
  expect(await way.send(mail, callingOff.signal)).toMatchObject([{ kind: "retry", maybeAccepted: false }]);
  expect(front.requests.length).toBe(requests);
  client.close();
});
