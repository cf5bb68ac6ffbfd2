import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Answer as Record } from "dns-packet";
import { Inboxd } from "../../../../sdk/typescript/src/inboxd.ts";
import { createAccount } from "../../../../src/flows/account/manage-accounts.ts";
import { enginesHere } from "../../../support/engines.ts";
import { nameServerOf, published } from "../../../support/published.ts";
import { type ScriptedDns, scriptedDns, zone } from "../../../support/scripted-dns.ts";
import { untilAnswered } from "../../../support/until.ts";
import type { World } from "../../../support/world.ts";
import { worldsOn } from "../../../support/world-on.ts";

describe.each(enginesHere())("/v1/domains on %s", (engine) => {
  const start = worldsOn(engine);
  const there: Record[] = [];
  let dns: ScriptedDns;
  let world: World;

  beforeAll(async () => {
    dns = await scriptedDns((question) => zone(there)(question));
    const env = { DNS_SERVERS: `127.0.0.1:${dns.port}`, MAIL_DOMAIN: "in.example", SMTP_HOSTNAME: "mx.example" };
    world = await start({ env });
  }, 30_000);
  afterAll(async () => {
    await world[Symbol.asyncDispose]();
    await dns.close();
  });

  const post = (path: string, body: object) => world.api(`/v1/domains${path}`, { method: "POST", body });

  test("a domain is added, published, verified by the worker, rotated, and deleted", async () => {
    const {
      status,
      body: added,
      headers,
    } = await post("", { domain: "Shop.test", returnPath: "mail", subdomains: true });
    expect([status, headers.get("location")]).toEqual([201, `/v1/domains/${added.id}`]);
    expect(added).toMatchObject({
      domain: "shop.test",
      shared: false,
      status: "pending",
      sending: "not_ready",
      inboxCount: 0,
    });
    expect(await post("", { domain: "shop.test" })).toMatchObject({ status: 200, body: { id: added.id } });

    there.push(nameServerOf("shop.test"), ...published(added.records));
    world.clock.pass(15_000);
    const verified = await untilAnswered(async () => {
      const { body } = await world.api(`/v1/domains/${added.id}`);
      return body.status === "verified" ? body : undefined;
    });
    expect(verified).toMatchObject({ sending: "ready", receiving: "ready", failsAt: null });
    expect(
      verified.records.map(({ purpose, host, status }: { [name: string]: string }) => [purpose, host, status]),
    ).toEqual([
      ["dkim", expect.stringMatching(/^ibx-[0-9a-z]{8}\._domainkey$/), "valid"],
      ["mx", "@", "valid"],
      ["mx", "*", "valid"],
      ["return_path", "mail", "valid"],
      ["dmarc", "_dmarc", "valid"],
    ]);
    const { body: log } = await world.api("/v1/events?types=domain.verified");
    expect(log.data).toMatchObject([{ domain: { domain: "shop.test", reason: null } }]);

    const inboxd = new Inboxd({ baseUrl: world.service.apiUrl.href, apiKey: world.apiKey });
    expect(await inboxd.domains.zone(added.id)).toContain("\nmail.shop.test. 3600 IN CNAME in.example.\n");
    const rotating = await inboxd.domains.rotateDkim(added.id);
    expect(rotating.records.filter(({ purpose }) => purpose === "dkim").map(({ required }) => required)).toEqual([
      true,
      false,
    ]);
    expect((await inboxd.domains.change(added.id, { subdomains: false })).records).toHaveLength(5);
    expect((await inboxd.domains.verify(added.id)).status).toBe("verified");
    expect(await inboxd.domains.list({ status: "verified" }).page()).toMatchObject({
      total: 1,
      data: [{ id: added.id }],
    });

    await inboxd.request("POST", "/v1/inboxes", { body: { domain: "shop.test", username: "ada" } });
    expect(await world.api(`/v1/domains/${added.id}`, { method: "DELETE" })).toMatchObject({
      status: 409,
      body: { code: "domain_in_use", inboxes: 1 },
    });
    const [inbox] = (await inboxd.inboxes.list().page()).data;
    await inboxd.inboxes.delete(inbox?.id ?? "");
    await inboxd.domains.delete(added.id);
    expect((await world.api(`/v1/domains/${added.id}`)).status).toBe(404);
    const { body: audit } = await world.api("/v1/audit?limit=100");
    expect(
      audit.data.map(({ action }: { action: string }) => action).filter((each: string) => each.startsWith("domain.")),
    ).toEqual(["domain.removed", "domain.changed", "domain.key_rotated", "domain.verified", "domain.added"]);
  });

  test.each([
    [{ domain: "in.example" }, 422, "domain_reserved"],
    [{ domain: "printer.local" }, 422, "invalid_domain"],
    [{ domain: "a.test", returnPath: "two.labels" }, 400, "validation_error"],
    [{ domain: 5 }, 400, "validation_error"],
    [{}, 400, "validation_error"],
  ])("POST %j is refused", async (body, status, code) => {
    expect(await post("", body)).toMatchObject({ status, body: { code } });
  });

  test("another account claims the same name in the same words, and sees nothing of the first", async () => {
    const { body: mine } = await post("", { domain: "both.test" });
    const { apiKey } = await createAccount(world.service.deps, { name: "other", plan: "enterprise" });
    const theirs = await world.api("/v1/domains", { method: "POST", body: { domain: "both.test" }, apiKey });
    expect([theirs.status, Object.keys(theirs.body)]).toEqual([201, Object.keys(mine)]);
    expect(theirs.body.records[0].name).not.toBe(mine.records[0].name);
    expect((await world.api(`/v1/domains/${mine.id}`, { apiKey })).status).toBe(404);
    expect((await world.api(`/v1/domains/${mine.id}/verify`, { method: "POST", apiKey })).status).toBe(404);
    expect((await world.api("/v1/domains", { apiKey })).body.total).toBe(1);
    const free = await createAccount(world.service.deps, { name: "free", plan: "free" });
    expect(
      await world.api("/v1/domains", { method: "POST", body: { domain: "free.test" }, apiKey: free.apiKey }),
    ).toMatchObject({ status: 403, body: { code: "feature_requires_paid_plan", feature: "own_domains" } });
  });
});
