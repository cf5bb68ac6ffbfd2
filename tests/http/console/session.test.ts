import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { accessTokens } from "../../../src/flows/account/access-tokens.ts";
import { createAccount, createKey, revokeKey } from "../../../src/flows/account/manage-accounts.ts";
import { signInLinkOfAccount } from "../../../src/flows/account/sign-in.ts";
import { signingKeyOf } from "../../../src/flows/account/signing-key.ts";
import { findFirstAccount } from "../../../src/store/account/accounts.ts";
import { untilAnswered } from "../../support/until.ts";
import { startWorld, type World } from "../../support/world.ts";

let world: World;
let origin: string;
beforeAll(async () => {
  world = await startWorld();
  origin = world.service.apiUrl.origin;
}, 60_000);
afterAll(() => world[Symbol.asyncDispose]());

/** The headers of a browser for a request by our own page. */
const ofOurPage = () => ({ "sec-fetch-site": "same-origin", origin });

async function signIn(key: string, headers: Record<string, string> = ofOurPage(), on = world) {
  return on.fetch("/console/session", { method: "POST", body: { key }, apiKey: null, headers });
}

const signInByLink = (link: string, given: object = {}, headers: Record<string, string> = ofOurPage(), on = world) =>
  on.fetch("/console/session", { method: "POST", body: { link, ...given }, apiKey: null, headers });

/** The token of a new link, as printed by `inboxd console`. */
async function linkOf(account: { id: string; name: string }, on = world): Promise<string> {
  const { deps } = on.service;
  const tokens = await accessTokens(await signingKeyOf(deps, undefined), "00");
  const { url } = await signInLinkOfAccount({ ...deps, tokens, baseUrl: () => "" }, account);
  return url.replace("/console/#t=", "");
}

async function cookieOf(key = world.apiKey): Promise<string> {
  const answer = await signIn(key);
  expect(answer.status).toBe(204);
  return (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
}

const asked = (path: string, headers: Record<string, string>, method = "GET", body?: unknown) =>
  world.api(path, { method, headers, body, apiKey: null });

describe("A browser's session", () => {
  test("is a cookie for twelve hours, hidden from scripts and not sent by other sites", async () => {
    const answer = await signIn(world.apiKey);
    expect(answer.headers.get("set-cookie")).toMatch(
      /^inboxd=ibt_[\w.-]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    );
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("set-cookie")).not.toContain(world.apiKey);
  });

  test("is bound to this host over https", async () => {
    await using secure = await startWorld({ database: "embedded", env: { BASE_URL: "https://mail.example" } });
    const answer = await signIn(
      secure.apiKey,
      { origin: "https://mail.example", "sec-fetch-site": "same-origin" },
      secure,
    );
    const cookie = answer.headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/^__Host-inboxd=.*; Secure$/);
    const headers = { cookie: cookie.split(";", 1)[0] ?? "", "sec-fetch-site": "same-origin" };
    expect((await secure.api("/v1/account", { apiKey: null, headers })).status).toBe(200);
    const unbound = { ...headers, cookie: headers.cookie.replace("__Host-", "") };
    expect((await secure.api("/v1/account", { apiKey: null, headers: unbound })).status).toBe(401);
  }, 60_000);

  test("has the access of its key, and is shown as that key", async () => {
    const cookie = await cookieOf();
    const { status, body } = await asked("/v1/account", { cookie, "sec-fetch-site": "same-origin" });
    expect(status).toBe(200);
    expect(body.key).toMatchObject({ name: "API_KEY", access: "full", expiresAt: "2026-03-21T22:05:00.000Z" });
    const made = await asked("/v1/inboxes", { cookie, ...ofOurPage() }, "POST", { username: "by-session" });
    expect(made.status).toBe(201);
    const removed = await asked(`/v1/inboxes/${made.body.id}`, { cookie, ...ofOurPage() }, "DELETE");
    expect(removed.status).toBe(204);
  });

  test("creates no keys, which would outlive it, and revokes them", async () => {
    const cookie = await cookieOf();
    const { body: key } = await world.api("/v1/keys", { method: "POST", body: {} });
    const { id } = await world.inbox();
    for (const path of ["/v1/keys", `/v1/keys/${key.id}/rotate`, `/v1/inboxes/${id}/api-keys`]) {
      const { status, body } = await asked(path, { cookie, ...ofOurPage() }, "POST", {});
      expect([path, status, body.code, body.required_access]).toEqual([path, 403, "forbidden", "full"]);
    }
    expect((await asked("/v1/keys", { cookie, "sec-fetch-site": "same-origin" })).body.total).toBeGreaterThan(1);
    expect((await asked(`/v1/keys/${key.id}`, { cookie, ...ofOurPage() }, "DELETE")).status).toBe(204);
  });

  test("is accepted from our own pages and opened addresses only", async () => {
    const cookie = await cookieOf();
    const sites: [Record<string, string>, number][] = [
      [{ "sec-fetch-site": "same-origin" }, 200],
      [{ "sec-fetch-site": "none", "sec-fetch-mode": "navigate" }, 200],
      [{ "sec-fetch-site": "none" }, 401],
      [{ "sec-fetch-site": "same-site" }, 401],
      [{ "sec-fetch-site": "cross-site" }, 401],
      [{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }, 401],
      [{}, 401],
    ];
    for (const [site, status] of sites)
      expect([site, (await asked("/v1/account", { cookie, ...site })).status]).toEqual([site, status]);
  });

  test("allows changes only from a page of our own origin", async () => {
    const cookie = await cookieOf();
    const from = (origin: string | undefined) => ({
      cookie,
      "sec-fetch-site": "same-origin",
      ...(origin !== undefined && { origin }),
    });
    const { port } = world.service.apiUrl;
    for (const foreign of [undefined, "null", "http://evil.example", "http://127.0.0.1:1", `ftp://127.0.0.1:${port}`]) {
      const { status, body } = await asked("/v1/inboxes", from(foreign), "POST", {});
      expect([foreign, status, body.code]).toEqual([foreign, 403, "forbidden"]);
    }
    // Behind a proxy with https, the page has the name of the proxy.
    expect((await asked("/v1/inboxes", from(`https://127.0.0.1:${port}`), "POST", {})).status).toBe(201);
  });

  test("is ignored if the request has a key, valid or not", async () => {
    const cookie = await cookieOf();
    const headers = { cookie, "sec-fetch-site": "same-origin" };
    expect((await world.api("/v1/account", { headers, apiKey: "wrong" })).status).toBe(401);
    expect((await world.api("/v1/inboxes", { method: "POST", headers: { cookie }, body: {} })).status).toBe(201);
  });

  test("is not a Bearer token, and neither is the token of the link", async () => {
    const session = (await cookieOf()).replace("inboxd=", "");
    const link = world.service.signIn?.url.split("#t=")[1] ?? "";
    expect(link).toStartWith("ibt_");
    for (const apiKey of [session, link]) expect((await world.api("/v1/account", { apiKey })).status).toBe(401);
    const inAddress = await world.fetch(`/v1/events/stream?token=${session}`, { apiKey: null });
    expect(inAddress.status).toBe(401);
    const cookie = `inboxd=${link}`;
    expect((await asked("/v1/account", { cookie, "sec-fetch-site": "same-origin" })).status).toBe(401);
  });

  test("ends with its twelve hours", async () => {
    const cookie = await cookieOf();
    world.clock.pass(43_200_000 - 1);
    expect((await asked("/v1/account", { cookie, "sec-fetch-site": "same-origin" })).status).toBe(200);
    world.clock.pass(1);
    expect((await asked("/v1/account", { cookie, "sec-fetch-site": "same-origin" })).status).toBe(401);
  });

  test("ends with its key", async () => {
    const { account, apiKey } = await createAccount(world.service.deps, { name: "acme", plan: "free" });
    const { id, key } = await createKey(world.service.deps, world.service.deps.db.api, { accountId: account.id });
    const headers = { cookie: await cookieOf(key), "sec-fetch-site": "same-origin" };
    expect((await asked("/v1/account", headers)).status).toBe(200);
    await revokeKey(world.service.deps, id);
    // The notification goes through the database.
    const status = async () => (await asked("/v1/account", headers)).status;
    await untilAnswered(async () => ((await status()) === 401 ? true : undefined));
    expect((await world.api("/v1/account", { apiKey })).status).toBe(200);
  });

  test("ends by signing out, which other sites cannot cause", async () => {
    const cookie = await cookieOf();
    const out = await world.fetch("/console/session", {
      method: "DELETE",
      apiKey: null,
      headers: { cookie, ...ofOurPage() },
    });
    expect(out.status).toBe(204);
    expect(out.headers.get("set-cookie")).toStartWith("inboxd=; Path=/; Max-Age=0;");
    const foreign = { cookie, "sec-fetch-site": "cross-site", origin: "http://evil.example" };
    expect((await asked("/console/session", foreign, "DELETE")).status).toBe(403);
  });
});

describe("Signing in", () => {
  test("is refused to a page of another site, with any credential", async () => {
    for (const headers of [
      { "sec-fetch-site": "cross-site", origin: "http://evil.example" },
      { "sec-fetch-site": "same-site", origin },
      { "sec-fetch-site": "same-origin", origin: "null" },
      { "sec-fetch-site": "same-origin" },
    ]) {
      const answer = await signIn(world.apiKey, headers as Record<string, string>);
      expect([answer.status, answer.headers.get("set-cookie")]).toEqual([403, null]);
    }
  });

  test("accepts a key from the form and a token from a link, and nothing else", async () => {
    const read = (await world.api("/v1/tokens", { method: "POST" })).body.token as string;
    const session = (await cookieOf()).replace("inboxd=", "");
    const account = await findFirstAccount(world.service.deps.db.api);
    const link = await linkOf(account ?? { id: "", name: "" });
    for (const key of ["wrong", read, session, link, "\u{1f511}"]) {
      const answer = await signIn(key);
      expect([answer.status, answer.headers.get("set-cookie")]).toEqual([401, null]);
    }
    for (const token of ["wrong", world.apiKey, read, session, `${link}x`]) {
      for (const given of [{}, { confirm: true }]) {
        const answer = await signInByLink(token, given);
        expect([answer.status, answer.headers.get("set-cookie")]).toEqual([401, null]);
      }
    }
    for (const body of [
      undefined,
      {},
      { key: 7 },
      { key: "" },
      { key: "a", more: 1 },
      { key: "a", link },
      { link: "" },
      { key: "a", confirm: true },
      { link, confirm: "yes" },
      { confirm: true },
    ])
      expect((await asked("/console/session", ofOurPage(), "POST", body)).status).toBe(400);
    expect((await signInByLink(link)).status).toBe(204);
  });

  test("by a link works once, also with many tries at the same time", async () => {
    const account = await findFirstAccount(world.service.deps.db.api);
    const token = await linkOf(account ?? { id: "", name: "" });
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await signInByLink(token)).status));
    expect(statuses.toSorted()).toEqual([204, ...Array.from({ length: 9 }, () => 401)]);
    // Two links of the same second differ.
    const both = await Promise.all([1, 2].map(() => linkOf(account ?? { id: "", name: "" })));
    expect(await Promise.all(both.map(async (each) => (await signInByLink(each)).status))).toEqual([204, 204]);
  });

  test("by a link replaces a session only after a confirmation, and is not used up before", async () => {
    const { account } = await createAccount(world.service.deps, { name: "stranger", plan: "free" });
    const token = await linkOf(account);
    const headers = { ...ofOurPage(), cookie: await cookieOf() };
    for (const given of [{}, { confirm: false }]) {
      const asks = await signInByLink(token, given, headers);
      expect([asks.status, asks.headers.get("set-cookie")]).toEqual([409, null]);
      expect(await asks.json()).toMatchObject({ code: "already_signed_in", account: "stranger", current: "default" });
    }
    // A page of another site cannot confirm.
    const foreign = { ...headers, "sec-fetch-site": "same-site", origin: "http://evil.example" };
    expect((await signInByLink(token, { confirm: true }, foreign)).status).toBe(403);
    const answer = await signInByLink(token, { confirm: true }, headers);
    expect(answer.status).toBe(204);
    const cookie = (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
    const { body } = await asked("/v1/account", { cookie, "sec-fetch-site": "same-origin" });
    expect(body.name).toBe("stranger");
    expect((await signInByLink(token, { confirm: true }, headers)).status).toBe(401);
  });

  test("by the link of a first start works for five minutes", async () => {
    await using fresh = await startWorld({ env: { API_KEY: "" } });
    const { url, expiresAt } = fresh.service.signIn ?? { url: "", expiresAt: new Date(0) };
    expect(url).toStartWith(`${fresh.service.apiUrl.origin}/console/#t=ibt_`);
    expect(expiresAt.toISOString()).toBe("2026-03-21T10:10:00.000Z");
    const [, token = ""] = url.split("#t=");
    const headers = { "sec-fetch-site": "same-origin", origin: fresh.service.apiUrl.origin };
    const answer = await signInByLink(token, {}, headers, fresh);
    expect(answer.status).toBe(204);
    const cookie = (answer.headers.get("set-cookie") ?? "").split(";", 1)[0] ?? "";
    const { body } = await fresh.api("/v1/account", {
      apiKey: null,
      headers: { cookie, "sec-fetch-site": "same-origin" },
    });
    expect(body.key.name).toBe("first start");
    const account = await findFirstAccount(fresh.service.deps.db.api);
    const unused = await linkOf(account ?? { id: "", name: "" }, fresh);
    fresh.clock.pass(300_000);
    expect((await signInByLink(unused, {}, headers, fresh)).status).toBe(401);
    await fresh.restart();
    expect(fresh.service.signIn).toBeUndefined();
  }, 60_000);

  test("does not exist without the console", async () => {
    await using without = await startWorld({ database: "embedded", env: { CONSOLE: "0" } });
    expect(without.service.signIn).toBeUndefined();
    const headers = { "sec-fetch-site": "same-origin", origin: without.service.apiUrl.origin };
    for (const [method, path] of [
      ["POST", "/console/session"],
      ["DELETE", "/console/session"],
      ["GET", "/console/"],
      ["GET", "/console/login"],
    ])
      expect((await without.fetch(path ?? "", { method, headers, apiKey: null } as object)).status).toBe(404);
    const account = await findFirstAccount(without.service.deps.db.api);
    expect(account?.name).toBe("default");
    const cookie = await cookieOf();
    const answer = await without.api("/v1/account", { apiKey: null, headers: { ...headers, cookie } });
    expect(answer.status).toBe(401);
  }, 60_000);
});
