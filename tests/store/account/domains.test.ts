import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isReceiving, returnPathHost } from "../../../src/domain/domains/readiness.ts";
import { findDomainForHost, findNearestHolder } from "../../../src/store/account/domains.ts";
import { migrate, migrations } from "../../../src/store/migrate.ts";
import { type EngineUnderTest, enginesHere, openEngine } from "../../support/engines.ts";
import { insertOwnDomain } from "../../support/own-domain.ts";

describe.each(enginesHere())("domains on %s", (engine) => {
  let engineHere: EngineUnderTest;
  beforeAll(async () => {
    engineHere = await openEngine(engine);
    await migrate(engineHere.db, migrations);
    const insert = (name: string, given: object = {}) =>
      insertOwnDomain(engineHere.db.api, { accountId: "acc_1", name, ...given });
    await insert("one.example");
    await insert("wide.example", { subdomains: true });
    await insert("near.wide.example", { accountId: "acc_2" });
    await insert("pending.example", { status: "pending" });
    await insert("pending.example", { status: "pending", accountId: "acc_2" });
    await insert("shared.example", { accountId: null });
    await insert("gone.example", { deletedAt: new Date() });
    await insert("failing.example", { status: "failing", recordsSeen: [] });
  }, 30_000);
  afterAll(() => engineHere.remove());

  // The host of an address, the domain that the account may use for it, and the nearest proven one.
  test.each([
    ["one.example", "one.example", "one.example"],
    ["below.one.example", undefined, "one.example"],
    ["wide.example", "wide.example", "wide.example"],
    ["a.b.wide.example", "wide.example", "wide.example"],
    ["near.wide.example", undefined, "near.wide.example"],
    ["below.near.wide.example", undefined, "near.wide.example"],
    ["pending.example", "pending.example", undefined],
    ["shared.example", "shared.example", "shared.example"],
    ["gone.example", undefined, undefined],
    ["failing.example", "failing.example", "failing.example"],
    ["example", undefined, undefined],
  ])("%s: for the account %s, nearest %s", async (host, own, holder) => {
    expect((await findDomainForHost(engineHere.db.api, "acc_1", host))?.name).toBe(own);
    expect((await findNearestHolder(engineHere.db.api, host))?.name).toBe(holder);
  });

  test("a name has one holder, and as many claimants as ask", async () => {
    const claim = (id: string, status: "pending" | "failing") =>
      insertOwnDomain(engineHere.db.api, { id, accountId: id, name: "one.example", status });
    await claim("acc_3", "pending");
    await claim("acc_4", "failing");
    const claimed = async (id: string) => (await findDomainForHost(engineHere.db.api, id, "one.example"))?.status;
    expect((await findNearestHolder(engineHere.db.api, "one.example"))?.accountId).toBe("acc_1");
    expect(await claimed("acc_3")).toBe("pending");
    expect(await claimed("acc_4")).toBeUndefined();
  });

  test("a proven domain with valid records receives, and has return paths of its own", async () => {
    const found = async (host: string) => {
      const domain = await findNearestHolder(engineHere.db.api, host);
      if (domain === undefined) throw new Error("not found");
      return [isReceiving(domain, [domain.name, `*.${domain.name}`]), returnPathHost(domain)];
    };
    expect(await found("one.example")).toEqual([true, "bounces.one.example"]);
    expect(await found("failing.example")).toEqual([false, undefined]);
  });
});
