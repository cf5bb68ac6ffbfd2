import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { newInbox, send } from "../support/sends.ts";
import { startWorld, type World } from "../support/world.ts";

describe("with OUTBOUND=direct and DNS_SERVERS, mail", () => {
  let dns: ScriptedDns;
  let world: World;
  let inboxId: string;

  beforeAll(async () => {
    const known = zone([
      { name: "null.works", type: "MX", ttl: 300, data: { preference: 0, exchange: "." } },
      { name: "inside.works", type: "MX", ttl: 300, data: { preference: 10, exchange: "mx.inside.works" } },
      { name: "mx.inside.works", type: "A", ttl: 300, data: "10.0.0.1" },
      { name: "bare.works", type: "TXT", ttl: 300, data: "no address" },
    ]);
    dns = await scriptedDns((question) => (question.name === "broken.works" ? { code: 2 } : known(question)));
    world = await startWorld({ env: { OUTBOUND: "direct", DNS_SERVERS: `127.0.0.1:${dns.port}` } });
    inboxId = await newInbox(world);
  });
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await dns.close();
  });

  const rows: [what: string, domain: string, status: string, code: number | undefined, message: string][] = [
    ["fails at a domain that takes none", "null.works", "failed", 556, "null.works takes no mail (null MX)"],
    [
      "fails at a domain that leads inside",
      "inside.works",
      "failed",
      550,
      "no mail host of inside.works has a public address",
    ],
    [
      "fails at a domain without an address",
      "bare.works",
      "failed",
      550,
      "bare.works doesn't exist or has no public address",
    ],
    ["fails at a domain that nobody knows", "nowhere.works", "failed", 550, "nowhere.works doesn't exist"],
    ["waits while nobody can say", "broken.works", "pending", undefined, ""],
  ];
  test.each(rows)("%s", async (_what, domain, status, code, message) => {
    const { body } = await send(world, inboxId, { to: `jane@${domain}` }, { waits: true });
    expect(body.status).toBe(status);
    const { failure } = (await world.api(`/v1/messages/${body.messageId}`)).body;
    expect(failure?.code).toBe(code as never);
    expect(failure?.message ?? "").toContain(message);
    expect(dns.questions).toContainEqual(expect.objectContaining({ name: domain, type: "MX" }));
  });
});
