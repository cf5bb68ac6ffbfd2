import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createAccount } from "../../../../src/flows/account/manage-accounts.ts";
import { startWorld, type World } from "../../../support/world.ts";

let world: World;
beforeAll(async () => {
  world = await startWorld({
    env: { MAIL_DOMAIN: "in.example", SENDS_PER_DAY: "200,enterprise=0", PLAN: "developer" },
  });
});
afterAll(() => world[Symbol.asyncDispose]());

describe("The account", () => {
  test("tells its limits, where its mail goes, and what the key may do", async () => {
    const { status, body } = await world.api("/v1/account");
    expect(status).toBe(200);
    expect(body).toEqual({
      id: expect.stringMatching(/^acc_/),
      name: "default",
      plan: "developer",
      limits: {
        sendsPerMinute: 10,
        sendsPerDay: 200,
        coldRecipientDaily: 20,
        inboxesPerDay: 100,
        inboxes: 0,
        domains: 20,
        keys: 10_000,
        storageBytes: 0,
        inboxBytes: 0,
        mailBytes: 26_214_400,
        receivesPerMinute: 0,
      },
      suspended: null,
      retentionDays: null,
      mailDomain: "in.example",
      outbound: "sandbox",
      createdAt: "2026-03-21T10:05:00.000Z",
      key: {
        id: expect.stringMatching(/^key_/),
        name: "API_KEY",
        access: "full",
        inboxId: null,
        externalId: null,
        expiresAt: null,
      },
      counts: { inboxes: 0, unreadThreads: 0, awaitingApproval: 0, outbox: 0 },
      sendPolicy: "open",
      searchWords: "all",
    });
  });

  test("is another one for another key, with the limits of its plan", async () => {
    const { account, apiKey } = await createAccount(world.service.deps, { name: "acme", plan: "enterprise" });
    const { body } = await world.api("/v1/account", { apiKey });
    expect(body).toMatchObject({ id: account.id, name: "acme", plan: "enterprise", limits: { sendsPerDay: 0 } });
    expect(body.key.name).toBe("account create");
  });

  test("shows a token as its key with its own access, reach and end", async () => {
    const { body: whole } = await world.api("/v1/account");
    const inbox = await world.inbox();
    const { body: made } = await world.api("/v1/tokens", { method: "POST", body: { inboxId: inbox.id } });
    const { body } = await world.api("/v1/account", { apiKey: made.token });
    expect(body.key).toEqual({
      ...whole.key,
      access: "read",
      inboxId: inbox.id,
      expiresAt: made.expiresAt,
    });
  });

  test("is shown to nobody without a key", async () => {
    expect((await world.api("/v1/account", { apiKey: null })).status).toBe(401);
  });
});
