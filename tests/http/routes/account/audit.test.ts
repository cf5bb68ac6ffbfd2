import { describe, expect, test } from "bun:test";
import { type AuditPage, listAuditEntries } from "../../../../src/store/account/audit.ts";
import { newAccount } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

describe("the audit", () => {
  const world = oneWorldOn("embedded");

  function entries(page: Partial<AuditPage>) {
    const all = { action: undefined, actor: undefined, targetId: undefined, since: undefined, until: undefined };
    return listAuditEntries(world().service.deps.db.api, {
      ...all,
      accountId: undefined,
      beforeId: undefined,
      limit: 100,
      ...page,
    });
  }

  test("has the inbox that a key created and deleted, with the client and the request", async () => {
    const apiKey = await newAccount(world());
    const made = { method: "POST", body: { username: "audited" }, apiKey, headers: { "x-request-id": "made-it" } };
    const { body: inbox } = await world().api("/v1/inboxes", made);
    await world().api(`/v1/inboxes/${inbox.id}`, { method: "DELETE", apiKey });
    const { body: account } = await world().api("/v1/account", { apiKey });
    const about = {
      accountId: account.id,
      actorType: "key",
      actorId: account.key.id,
      actorName: account.key.name,
      ip: "127.0.0.1",
      targetType: "inbox",
      targetId: inbox.id,
    };
    expect(await entries({ accountId: account.id })).toMatchObject([
      { ...about, action: "inbox.deleted", details: { username: "audited" } },
      { ...about, action: "inbox.created", requestId: "made-it", details: { username: "audited", externalId: null } },
    ]);
  });

  test("has nothing of a refused request", async () => {
    const apiKey = await newAccount(world());
    const { body: account } = await world().api("/v1/account", { apiKey });
    const make = () => world().api("/v1/inboxes", { method: "POST", body: { username: "only.once" }, apiKey });
    expect([(await make()).status, (await make()).status]).toEqual([201, 409]);
    expect(await entries({ accountId: account.id })).toHaveLength(1);
  });
});
