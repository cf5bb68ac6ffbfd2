import { describe, expect, test } from "bun:test";
import { type Connecting, connecting, register, verifier } from "../../support/connecting.ts";
import { enginesHere } from "../../support/engines.ts";
import { untilAnswered } from "../../support/until.ts";
import type { World } from "../../support/world.ts";
import { oneWorldOn } from "../../support/world-on.ts";

const listTools = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };

async function mcp(world: World, credential: string | null, path = "/mcp/connect", body: object = listTools) {
  const headers = {
    accept: "application/json, text/event-stream",
    ...(credential !== null && { authorization: `Bearer ${credential}` }),
  };
  return world.fetch(path, { method: "POST", apiKey: null, headers, body });
}

for (const engine of enginesHere()) {
  describe(`Sign-in for clients of MCP, on ${engine}`, () => {
    const world = oneWorldOn(engine);
    const person = (key?: string) => {
      // An address may register ten programs an hour.
      world().clock.pass(3_600_000);
      return connecting(world(), key);
    };
    /** Waits until MCP refuses a token: the other processes hear of its end in a moment. */
    const untilRefused = (token: string) =>
      untilAnswered(async () => ((await mcp(world(), token)).status === 401 ? true : undefined));
    const connected = async (by: Connecting, fields?: Record<string, string>) => {
      const { body } = await by.redeem(await by.code(fields));
      return { access: body.access_token ?? "", refresh: body.refresh_token ?? "", body };
    };

    test("is found from the refusal at /mcp/connect, and not at /mcp", async () => {
      const { origin } = world().service.apiUrl;
      const refused = await mcp(world(), null);
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toBe(
        `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp/connect", scope="read agent"`,
      );
      expect((await mcp(world(), null, "/mcp")).headers.get("www-authenticate")).toBe("Bearer");
      const resource = await world().api("/.well-known/oauth-protected-resource/mcp/connect", { apiKey: null });
      expect(resource.body).toMatchObject({
        resource: `${origin}/mcp/connect`,
        authorization_servers: [`${origin}/oauth`],
      });
      expect(resource.headers.get("access-control-allow-origin")).toBe("*");
      const [first, ...others] = await Promise.all(
        [
          "/.well-known/oauth-authorization-server/oauth",
          "/.well-known/openid-configuration/oauth",
          "/oauth/.well-known/oauth-authorization-server",
          "/oauth/.well-known/openid-configuration",
        ].map(async (path) => (await world().api(path, { apiKey: null })).body),
      );
      expect(first).toMatchObject({ issuer: `${origin}/oauth`, code_challenge_methods_supported: ["S256"] });
      expect(others).toEqual([first, first, first]);
      for (const path of ["/.well-known/oauth-authorization-server", "/.well-known/oauth-protected-resource"])
        expect((await world().api(path, { apiKey: null })).status).toBe(404);
    });

    test("gives a program tokens with the access and the reach that a person chose, at MCP alone", async () => {
      const by = await person();
      const inbox = await world().inbox();
      const { access, body } = await connected(by, { reach: "inbox", inbox: inbox.address, access: "read" });
      expect(body).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "read" });
      for (const path of ["/mcp/connect", "/mcp"]) expect((await mcp(world(), access, path)).status).toBe(200);
      const call = { ...listTools, method: "tools/call", params: { name: "list_inboxes", arguments: {} } };
      const listed = await (await mcp(world(), access, "/mcp/connect", call)).text();
      expect(listed).toContain(inbox.id);
      expect(listed).toContain('\\"total\\":1');
      for (const path of ["/v1/inboxes", "/v1/account", `/v1/events/stream?token=${access}`])
        expect([path, (await world().api(path, { apiKey: path.includes("token") ? null : access })).status]).toEqual([
          path,
          401,
        ]);
    });

    test("asks the person on a page without a script that no page of another site can frame or answer", async () => {
      const by = await person();
      const question = by.question({ state: '"><script>alert(1)</script>' });
      const { status, text, headers } = await by.asked(question);
      expect(status).toBe(200);
      expect(text).not.toContain("<script");
      expect(text).toContain("Test program");
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("form-action 'self' http://127.0.0.1:7777;");
      expect(policy).toContain("frame-ancestors 'none'");
      const { origin } = world().service.apiUrl;
      for (const headers of [
        { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
        { "sec-fetch-site": "same-site", origin },
        { "sec-fetch-site": "same-origin", origin: "null" },
      ])
        expect((await by.answer(question, {}, headers)).status).toBe(403);
      // A token of the same session for another question.
      const { text: other } = await by.asked(by.question({ state: "s2" }));
      const [, token = ""] = /name="consent" value="([^"]+)"/.exec(other) ?? [];
      const forged = await by.answer(question, { consent: token });
      expect([forged.status, forged.location]).toEqual([200, undefined]);
      expect(forged.text).toContain("Decide once more");
    });

    test("leads a browser without a session to the sign-in, and one from another site through a page of ours", async () => {
      const by = await person();
      const { text } = await by.asked(by.question(), {
        cookie: "",
        "sec-fetch-site": "none",
        "sec-fetch-mode": "navigate",
      });
      expect(text).toContain("Sign in to inboxd first");
      const again = await by.asked(by.question(), { "sec-fetch-site": "cross-site" });
      expect(again.text).toContain('http-equiv="refresh"');
      expect(again.text).not.toContain("consent");
    });

    test.each([
      ["an unknown program", { client_id: "ocl_01km57j4m0eh7awf6pjemv2930" }, "not registered"],
      ["another address", { redirect_uri: "http://127.0.0.1:7777/callback/more" }, "not one of the program"],
      ["a fragment", { redirect_uri: "http://127.0.0.1:7777/callback#a" }, "not one of the program"],
      ["another host", { redirect_uri: "https://127.0.0.1:7777/callback" }, "not one of the program"],
      ["no address", { redirect_uri: undefined }, "redirect_uri is missing"],
    ])("tells the person, and not the address, of %s", async (_name, changed, words) => {
      const by = await person();
      const { status, text } = await by.asked(by.question(changed));
      expect([status, text.includes(words)]).toEqual([400, true]);
    });

    test("takes another port of this machine", async () => {
      const by = await person();
      const { location } = await by.answer(by.question({ redirect_uri: "http://127.0.0.1:50123/callback" }));
      expect(location?.port).toBe("50123");
    });

    test.each([
      ["unsupported_response_type", { response_type: "token" }],
      ["invalid_request", { code_challenge: undefined }],
      ["invalid_request", { code_challenge_method: "plain" }],
      ["invalid_request", { code_challenge_method: undefined }],
      ["invalid_target", { resource: undefined }],
      ["invalid_target", { resource: "https://other.example/mcp" }],
      ["invalid_scope", { scope: "admin" }],
    ])("sends the error %s back to the program", async (error, changed) => {
      const by = await person();
      const { status, headers } = await by.asked(by.question(changed));
      const location = new URL(headers.get("location") ?? "");
      expect(status).toBe(303);
      expect(Object.fromEntries(location.searchParams)).toMatchObject({
        error,
        state: "s1",
        iss: `${world().service.apiUrl.origin}/oauth`,
      });
    });

    test("sends a denial back, and makes nothing", async () => {
      const by = await person();
      const { location } = await by.answer(by.question(), { decision: "deny" });
      expect(location?.searchParams.get("error")).toBe("access_denied");
    });

    test("takes a code once, within a minute, from its program alone, with the secret of its challenge", async () => {
      const by = await person();
      const { body: other } = await register(world());
      const code = await by.code();
      for (const changed of [
        { client_id: other.client_id },
        { code_verifier: "w".repeat(43) },
        { code_verifier: "" },
        { redirect_uri: "http://127.0.0.1:7777/other" },
        // Not the last character, two bits of which mean nothing.
        { code: `${code.slice(0, -2)}${code.at(-2) === "A" ? "B" : "A"}${code.at(-1)}` },
      ])
        expect((await by.redeem(code, changed)).body).toMatchObject({ error: "invalid_grant" });
      const { status, body, headers } = await by.redeem(code);
      expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
      expect((await mcp(world(), body.access_token ?? "")).status).toBe(200);
      expect((await by.redeem(code)).body).toMatchObject({ error: "invalid_grant" });
      // The second use ends what the first one brought.
      await untilRefused(body.access_token ?? "");
      expect((await by.refresh(body.refresh_token ?? "")).status).toBe(400);

      const late = await by.code();
      world().clock.pass(60_000);
      expect((await by.redeem(late)).body).toMatchObject({ error: "invalid_grant" });
    });

    test("turns a refresh token with each use, answers the one before for 30 seconds, and then ends the grant", async () => {
      const by = await person();
      const { refresh: first } = await connected(by);
      const { body: second } = await by.refresh(first);
      const { body: again } = await by.refresh(first);
      expect(again.refresh_token).toBe(second.refresh_token as string);
      expect(
        (await by.refresh(second.refresh_token ?? "", { client_id: "ocl_01km57j4m0eh7awf6pjemv2930" })).status,
      ).toBe(400);
      world().clock.pass(30_000);
      const { body: third } = await by.refresh(second.refresh_token ?? "");
      expect((await mcp(world(), third.access_token ?? "")).status).toBe(200);
      expect((await by.refresh(first)).body).toMatchObject({ error: "invalid_grant" });
      await untilRefused(third.access_token ?? "");
      expect((await by.refresh(third.refresh_token ?? "")).status).toBe(400);
    });

    test("is listed as a grant and never as a key, and ends when it is deleted or revoked", async () => {
      const by = await person();
      const { access } = await connected(by, { access: "read" });
      const { body: grants } = await world().api("/v1/grants");
      const [grant] = grants.data;
      expect(grant).toMatchObject({
        client: { id: by.clientId, name: "Test program", host: "127.0.0.1:7777" },
        access: "read",
        inboxId: null,
      });
      const { body: keys } = await world().api("/v1/keys?limit=100");
      expect(keys.data.filter(({ name }: { name: string }) => name === "Test program")).toEqual([]);
      expect((await world().api(`/v1/grants/${grant.id}`, { method: "DELETE" })).status).toBe(204);
      await untilRefused(access);
      expect((await world().api(`/v1/grants/${grant.id}`, { method: "DELETE" })).body).toMatchObject({
        resource: "grant",
      });

      for (const kind of ["access_token", "refresh_token"] as const) {
        const { body } = await by.redeem(await by.code());
        const revoked = await fetch(new URL("/oauth/revoke", world().service.apiUrl), {
          method: "POST",
          body: new URLSearchParams({ token: body[kind] ?? "" }),
        });
        expect(revoked.status).toBe(200);
        await untilRefused(body.access_token ?? "");
      }
    });

    test("ends with the key whose session consented", async () => {
      const { body: key } = await world().api("/v1/keys", { method: "POST", body: { access: "agent", name: "Ada" } });
      const by = await person(key.key);
      const { access } = await connected(by);
      expect((await mcp(world(), access)).status).toBe(200);
      await world().api(`/v1/keys/${key.id}`, { method: "DELETE" });
      await untilRefused(access);
    });

    test("never gives more than the key of the session has", async () => {
      const { body: key } = await world().api("/v1/keys", {
        method: "POST",
        body: { access: "read", externalId: "t1" },
      });
      const by = await person(key.key);
      const { text } = await by.asked(by.question());
      expect([text.includes('value="agent"'), text.includes("externalId &quot;t1&quot;")]).toEqual([false, true]);
      const { location, text: refused } = await by.answer(by.question(), { access: "agent" });
      expect([location, refused.includes("Choose what the program may do")]).toEqual([undefined, true]);
      await connected(by, { access: "read", reach: "account" });
      const { body: grants } = await world().api("/v1/grants?limit=1");
      expect(grants.data[0]).toMatchObject({ access: "read", externalId: "t1" });
    });

    test("registers a program ten times an hour from an address", async () => {
      world().clock.pass(3_600_000);
      const answers = [];
      for (let count = 0; count < 11; count += 1) answers.push((await register(world())).status);
      expect(answers).toEqual([...Array.from({ length: 10 }, () => 201), 429]);
      for (const redirect_uris of [
        [],
        ["javascript:alert(1)"],
        ["http://example.com/"],
        ["https://a.example/#x"],
        [1],
      ]) {
        const { status, body } = await register(world(), { redirect_uris });
        expect([status, body.error]).toEqual([400, "invalid_client_metadata"]);
      }
    });
  });
}

test("the secret of a challenge has the length that the standard asks for", () => expect(verifier).toHaveLength(43));
