import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answer as Record } from "dns-packet";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { zoneQuestions } from "../../src/dns/zones.ts";
import { commandLine } from "../../src/domain/access/actor.ts";
import { domainReadiness } from "../../src/domain/domains/readiness.ts";
import type { ShownRecord } from "../../src/domain/domains/records.ts";
import { shownRecords, wantedRecords } from "../../src/domain/domains/records.ts";
import { Refusal } from "../../src/domain/errors.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { checkDomain } from "../../src/flows/domains/check-domain.ts";
import {
  addDomain,
  changeDomain,
  type DomainDeps,
  type NewDomain,
  removeDomain,
  rotateDkim,
  type ShownDomain,
  shownDomain,
  verifyDomain,
  verifyWithoutDns,
} from "../../src/flows/domains/manage-domains.ts";
import { claimDueDomains, listDomainKeys, removeRetiredKeys } from "../../src/store/account/domains.ts";
import { settable } from "../support/clock.ts";
import { enginesHere } from "../support/engines.ts";
import { outboxWorld } from "../support/outbox-world.ts";
import { inStrings, nameServerOf, published } from "../support/published.ts";
import { type ScriptedDns, scriptedDns, zone } from "../support/scripted-dns.ts";
import { setUpEngine } from "../support/set-up-engine.ts";

const names = { mailDomain: "inbox.us.example", smtpHostname: "mx.us.example" };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

describe.each(enginesHere())("own domains on %s", (engine) => {
  const under = setUpEngine(engine);
  const clock = settable();
  /** What the name server says, by zone. A zone that is not here does not exist. */
  const zones = new Map<string, readonly Record[] | "silence">();
  let server: ScriptedDns;
  let deps: DomainDeps;
  const accounts: string[] = [];

  beforeAll(async () => {
    server = await scriptedDns(async (question) => {
      const { name, type } = question;
      const ends = Array.from(zones.keys()).filter((end) => name.endsWith(end));
      const there = zones.get(ends.toSorted((one, other) => other.length - one.length)[0] ?? "") ?? [];
      if (there === "silence") return "silence";
      const all = Array.from(zones.values()).flatMap((each) => (each === "silence" ? [] : each));
      const wildcard = there.find((each) => each.name === "*");
      const isThere = all.some((each) => each.name === name);
      if (isThere || wildcard === undefined || ![type, "CNAME"].includes(wildcard.type)) return zone(all)(question);
      return { answers: [{ ...wildcard, name } as Record] };
    });
    const flows = await outboxWorld(under.db, { clock });
    deps = {
      ...flows.deps,
      names,
      isSandbox: true,
      domainGraceHours: 168,
      random: () => 0.5,
      openQuestions: async () =>
        zoneQuestions({
          resolvers: [server],
          resolversAlone: true,
          isAllowed: () => true,
          randomBytes: flows.deps.randomBytes,
          signal: new AbortController().signal,
          limits: { tryMs: 300 },
        }),
    };
    for (const name of ["one", "two", "three"]) {
      accounts.push((await createAccount(flows.deps, { name, plan: "developer" })).account.id);
    }
  }, 30_000);
  afterAll(() => server.close());

  const as = (account: number) => ({ owner: accounts[account] ?? "", actor: commandLine });
  const add = async (name: string, account = 0) =>
    (await addDomain(deps, { ...as(account), plan: "developer", name, returnPath: undefined, subdomains: undefined }))
      .domain;
  const now = (domain: ShownDomain) => shownDomain(deps, domain.accountId, domain.id);
  const records = (domain: ShownDomain) => shownRecords(wantedRecords(domain, domain.keys, names), domain);

  /** The wanted records as they stand in a zone, changed by `change`. */
  function zoneOf(domain: ShownDomain, change: (record: ShownRecord) => Record[] = asPublished): Record[] {
    return [nameServerOf(domain.name), ...records(domain).flatMap(change)];
  }

  function asPublished(record: ShownRecord): Record[] {
    return published([record]);
  }

  /** Checks a domain at once, and returns it. */
  async function check(domain: ShownDomain): Promise<ShownDomain> {
    await checkDomain(deps, domain);
    return now(domain);
  }

  /** A verified domain, with all of its records. */
  async function verified(name: string, account = 0): Promise<ShownDomain> {
    const domain = await add(name, account);
    zones.set(name, zoneOf(domain));
    return check(domain);
  }

  function events({ id }: ShownDomain): Promise<{ type: string; domain: object; records: object[] }[]> {
    return query(
      deps.db.api,
      sql`select type, data->'domain' as domain, data->'records' as records from events where data->'domain'->>'id' = ${id}`,
    );
  }

  test("a domain is added once, pending, and verified when its records are found", async () => {
    const domain = await add("First.test");
    expect(await add("first.test.")).toMatchObject({ id: domain.id });
    expect(domain).toMatchObject({ status: "pending", checkedAt: null, nextCheckAt: clock.now() });
    expect(await check(domain)).toMatchObject({
      status: "pending",
      nextCheckAt: new Date(domain.createdAt.getTime() + 15_000),
    });

    zones.set("first.test", zoneOf(domain));
    clock.pass(15_000);
    const due = await claimDueDomains(deps.db.work, { now: deps.now(), leaseMs: minuteMs, limit: 20 });
    expect(due.map(({ id }) => id)).toContain(domain.id);
    expect(await claimDueDomains(deps.db.work, { now: deps.now(), leaseMs: minuteMs, limit: 20 })).toEqual([]);
    const after = await check(domain);
    expect(after).toMatchObject({ status: "verified", zone: "first.test", leasedUntil: null, verifiedAt: deps.now() });
    expect(records(after).map(({ purpose, host, status }) => [purpose, host, status])).toEqual([
      ["dkim", `${domain.keys[0]?.selector}._domainkey`, "valid"],
      ["mx", "@", "valid"],
      ["return_path", "bounces", "valid"],
      ["dmarc", "_dmarc", "valid"],
    ]);
    expect(await events(domain)).toMatchObject([
      {
        type: "domain.verified",
        domain: { name: "first.test", status: "verified", sending: "ready", receiving: "ready", reason: null },
        records: [{ purpose: "dkim", type: "TXT", status: "valid", problem: null }, {}, {}, {}],
      },
    ]);
  });

  const instead =
    (...values: string[]) =>
    (record: ShownRecord) =>
      values.map((data): Record => ({ name: record.name, type: "TXT", ttl: 0, data }));
  /** How the record of a purpose is published wrongly, and what the check says about it. */
  const faults: readonly [
    ShownRecord["purpose"],
    string,
    (record: ShownRecord) => Record[],
    status: string,
    problem: string | null,
  ][] = [
    [
      "dkim",
      "in one-octet strings",
      (record) => [{ name: record.name, type: "TXT", ttl: 0, data: inStrings(record.value, 1) }],
      "valid",
      null,
    ],
    [
      "dkim",
      "behind an alias",
      (record) => [{ name: record.name, type: "CNAME", ttl: 0, data: "key.alias.test" }],
      "valid",
      null,
    ],
    ["dkim", "missing", () => [], "missing", null],
    [
      "dkim",
      "with its name doubled",
      (record) => [{ name: `${record.name}.faults.test`, type: "TXT", ttl: 0, data: inStrings(record.value, 200) }],
      "invalid",
      "doubled_name",
    ],
    ["dkim", "twice", (record) => [...asPublished(record), ...instead("other")(record)], "invalid", "several"],
    ["dkim", "revoked", instead("v=DKIM1; p="), "invalid", "revoked"],
    ["dkim", "cut", (record) => instead(record.value.slice(0, 200))(record), "invalid", "truncated"],
    [
      "dkim",
      "quoted",
      (record) => [{ name: record.name, type: "TXT", ttl: 0, data: inStrings(`"${record.value}"`, 200) }],
      "invalid",
      "quoted",
    ],
    [
      "dkim",
      "under a wildcard text",
      (record) => [...asPublished(record), { name: "*", type: "TXT", ttl: 0, data: "any" }],
      "invalid",
      "wildcard",
    ],
    [
      "dkim",
      "under a wildcard alias",
      (record) => [...asPublished(record), { name: "*", type: "CNAME", ttl: 0, data: "nowhere.test" }],
      "invalid",
      "wildcard",
    ],
    [
      "mx",
      "elsewhere",
      ({ name }) => [{ name, type: "MX", ttl: 0, data: { preference: 1, exchange: "mx.other.test" } }],
      "invalid",
      "other_server",
    ],
    [
      "mx",
      "by an alias",
      ({ name }) => [{ name, type: "MX", ttl: 0, data: { preference: 1, exchange: "mx.alias.test" } }],
      "invalid",
      "alias",
    ],
    [
      "return_path",
      "in two steps",
      ({ name }) => [{ name, type: "CNAME", ttl: 0, data: "bounces.alias.test" }],
      "valid",
      null,
    ],
    [
      "return_path",
      "with addresses",
      ({ name }) => [{ name, type: "A", ttl: 0, data: "192.0.2.1" }],
      "invalid",
      "proxied",
    ],
    [
      "return_path",
      "elsewhere",
      ({ name }) => [{ name, type: "CNAME", ttl: 0, data: "other.test" }],
      "invalid",
      "other_value",
    ],
    ["dmarc", "missing", () => [], "missing", null],
    ["dmarc", "without a policy", instead("v=DMARC1; q=none"), "invalid", "other_value"],
  ];

  test("each problem of a record is found", async () => {
    const domain = await add("faults.test");
    const dkimValue = records(domain)[0]?.value ?? "";
    zones.set("alias.test", [
      { name: "key.alias.test", type: "TXT", ttl: 0, data: inStrings(dkimValue, 250) },
      { name: "mx.alias.test", type: "CNAME", ttl: 0, data: names.smtpHostname },
      { name: "bounces.alias.test", type: "CNAME", ttl: 0, data: names.mailDomain },
    ]);
    const found: unknown[] = [];
    for (const [purpose, , change] of faults) {
      zones.set(
        "faults.test",
        zoneOf(domain, (record) => (record.purpose === purpose ? change(record) : asPublished(record))),
      );
      const record = records(await check(domain)).find((each) => each.purpose === purpose);
      found.push([record?.status, record?.problem, record?.hint === null]);
    }
    expect(found).toEqual(faults.map(([, , , status, problem]) => [status, problem, status === "valid"]));
  });

  test("an answer that does not come never counts, and a record that is gone does after two checks", async () => {
    const domain = await verified("going.test");
    zones.set("going.test", "silence");
    clock.pass(240 * hourMs);
    const silent = await check(domain);
    expect(silent).toMatchObject({ status: "verified", missingSince: null });
    expect(records(silent)[1]).toMatchObject({ status: "valid", problem: "no_answer" });
    expect(domainReadiness(silent).receiving).toBe("ready");

    zones.set("going.test", [nameServerOf("going.test")]);
    expect((await check(domain)).status).toBe("verified");
    expect((await check(domain)).status).toBe("verified");
    clock.pass(15 * minuteMs);
    const failing = await check(domain);
    expect(failing).toMatchObject({ status: "failing", failsAt: new Date(deps.now().getTime() + 168 * hourMs) });
    expect(domainReadiness(failing)).toEqual({ sending: "ready", receiving: "not_ready" });
    clock.pass(168 * hourMs);
    expect(await check(domain)).toMatchObject({ status: "failed", failedReason: "proof_gone", nextCheckAt: null });
    expect((await events(domain)).map(({ type }) => type).toSorted()).toEqual([
      "domain.failed",
      "domain.failing",
      "domain.verified",
    ]);

    zones.set("going.test", zoneOf(domain));
    expect(await verifyDomain(deps, as(0), domain.id)).toMatchObject({ status: "verified", failedReason: null });
    zones.delete("going.test");
    expect(await verifyDomain(deps, as(0), domain.id)).toMatchObject({ status: "verified", missingSince: null });
    clock.pass(10_000);
    expect(await verifyDomain(deps, as(0), domain.id)).toMatchObject({ missingSince: deps.now() });
  });

  test("of many who claim a name one gets it, and keeps it while its record is there", async () => {
    const claims = await Promise.all([0, 1, 2].map((account) => add("wanted.test", account)));
    const [first] = claims;
    if (first === undefined) throw new Error("no claim");
    zones.set("wanted.test", [
      ...zoneOf(first),
      ...claims.slice(1).flatMap((each) => asPublished(records(each)[0] as ShownRecord)),
    ]);
    const checked = await Promise.all(claims.map(check));
    expect(checked.map(({ status }) => status).toSorted()).toEqual(["pending", "pending", "verified"]);
    const holder = checked.find(({ status }) => status === "verified") as ShownDomain;
    const others = checked.filter(({ id }) => id !== holder.id);
    for (const other of others) {
      expect(records(await check(other))[0]).toMatchObject({ status: "valid", problem: "taken" });
    }

    // The name servers do not answer about the holder's record: no verdict.
    const [next] = others as [ShownDomain];
    const recordOf = (domain: ShownDomain) => asPublished(records(domain)[0] as ShownRecord);
    zones.set(records(holder)[0]?.name ?? "", "silence");
    zones.set("wanted.test", [nameServerOf("wanted.test"), ...recordOf(next)]);
    expect((await check(next)).status).toBe("pending");

    zones.delete(records(holder)[0]?.name ?? "");
    expect((await check(next)).status).toBe("verified");
    const before = await now(holder);
    expect(before).toMatchObject({ status: "failed", failedReason: "moved" });
    expect(records(before)[0]?.status).toBe("missing");
    expect(await events(holder)).toContainEqual(
      expect.objectContaining({ type: "domain.failed", domain: expect.objectContaining({ reason: "moved" }) }),
    );

    // A removed domain leaves a record that proves nothing for the next one of that name.
    await removeDomain(deps, { owner: next.accountId, actor: commandLine }, next.id);
    expect(await listDomainKeys(deps.db.api, [next.id])).toEqual([]);
    const again = (
      await addDomain(deps, {
        owner: next.accountId,
        actor: commandLine,
        plan: "developer",
        name: "wanted.test",
        returnPath: undefined,
        subdomains: undefined,
      })
    ).domain;
    expect(records(await check(again))[0]?.status).toBe("missing");
  });

  test("a key is replaced once the record of the next one is found, and the old record stays for a while", async () => {
    const domain = await verified("rotated.test");
    const [old] = domain.keys;
    const activeSelector = async (id: string) =>
      (await listDomainKeys(deps.db.api, [id])).find(({ state }) => state === "active")?.selector;
    const rotated = await rotateDkim(deps, as(0), domain.id, undefined);
    const next = rotated.keys.find(({ state }) => state === "next");
    expect((await rotateDkim(deps, as(0), domain.id, undefined)).keys).toHaveLength(2);
    expect(rotated.nextCheckAt).toEqual(new Date(deps.now().getTime() + 15_000));
    const waiting = await check(domain);
    expect(waiting.status).toBe("verified");
    expect(await activeSelector(domain.id)).toBe(old?.selector);

    zones.set("rotated.test", zoneOf(waiting));
    const replaced = await check(domain);
    expect(await activeSelector(domain.id)).toBe(next?.selector);
    expect(replaced.status).toBe("verified");
    expect(
      records(replaced).map(({ required, purpose, hint }) => [purpose, required, hint?.slice(0, 23) ?? null]),
    ).toEqual([
      ["dkim", true, null],
      ["dkim", false, "Keep this record until "],
      ["mx", false, null],
      ["return_path", false, null],
      ["dmarc", false, null],
    ]);
    clock.pass(7 * 24 * hourMs);
    await removeRetiredKeys(deps.db.api, deps.now());
    expect((await now(domain)).keys.map(({ selector }) => selector)).toEqual([next?.selector ?? ""]);

    // After a leak: the new key signs at once, and the old one is gone with the same check.
    const leaked = await rotateDkim(deps, as(0), domain.id, 0);
    zones.set("rotated.test", zoneOf(leaked));
    await check(domain);
    await removeRetiredKeys(deps.db.api, deps.now());
    expect((await now(domain)).keys.map(({ state }) => state)).toEqual(["active"]);
  });

  test("requests that are refused", async () => {
    const reason = async (work: Promise<unknown>) =>
      work.then(
        () => "done",
        (error) => (error instanceof Refusal ? error.reason : error),
      );
    const asked = (name: string, given: Partial<NewDomain>) =>
      reason(
        addDomain(deps, { ...as(0), plan: "developer", name, returnPath: undefined, subdomains: undefined, ...given }),
      );
    const shared = await addDomain(deps, {
      owner: null,
      actor: commandLine,
      plan: undefined,
      name: "shared.test",
      returnPath: undefined,
      subdomains: true,
    });
    expect(await asked("shared.test", {})).toBe("domain_reserved");
    expect(await asked("a.shared.test", {})).toBe("done");
    expect(await asked("inbox.us.example", {})).toBe("domain_reserved");
    expect(await asked("free.test", { plan: "free" })).toBe("feature_requires_paid_plan");
    const few = { ...deps, limits: { ...deps.limits, developer: { ...deps.limits.developer, domains: 1 } } };
    expect(
      await reason(
        addDomain(few, {
          ...as(0),
          plan: "developer",
          name: "more.test",
          returnPath: undefined,
          subdomains: undefined,
        }),
      ),
    ).toBe("quota_exceeded");

    const domain = await verified("used.test");
    expect(await reason(shownDomain(deps, as(1).owner, domain.id))).toBe("not_found");
    expect(await reason(removeDomain(deps, as(1), domain.id))).toBe("not_found");
    expect(await reason(removeDomain(deps, as(0), shared.domain.id))).toBe("not_found");
    expect((await shownDomain(deps, as(1).owner, shared.domain.id)).name).toBe("shared.test");
    expect(await changeDomain(deps, as(0), domain.id, { subdomains: true })).toMatchObject({
      subdomains: true,
      nextCheckAt: deps.now(),
    });
    await query(
      deps.db.api,
      sql`insert into inboxes (id, account_id, username, created_at, domain_id)
          values ('inb_used', ${domain.accountId}, 'ada@below.used.test', now(), ${domain.id})`,
    );
    expect(await reason(changeDomain(deps, as(0), domain.id, { subdomains: false }))).toBe("domain_in_use");
    expect(await reason(removeDomain(deps, as(0), domain.id))).toBe("domain_in_use");
    expect((await now(domain)).inboxCount).toBe(1);
    expect(await verifyWithoutDns(deps, { owner: null, actor: commandLine }, shared.domain.id)).toMatchObject({
      status: "verified",
      nextCheckAt: null,
    });
  });
});
