import { afterAll, describe, expect, test } from "bun:test";
import { DatabaseUnavailable } from "../../../src/database/db.ts";
import { openDoor } from "../../support/http-door.ts";
import { connectRaw } from "../../support/raw-http.ts";

const door = openDoor();
afterAll(() => door.server.stop(0));

const withField = (authorization: string) => door.ask("GET", "/v1/boxes/1", { headers: { authorization } });

describe("A key is taken", () => {
  test.each([["Bearer ibx_good"], ["bearer ibx_good"], ["BEARER   ibx_good"], ["Bearer ibx_good "]])(
    "as %p",
    async (field) => {
      const answer = await withField(field);
      expect([answer.status, await answer.json()]).toEqual([200, { id: "acc_1", size: 1 }]);
    },
  );
});

describe("A request without a good key", () => {
  const bad = [
    ["has no field", ""],
    ["has another scheme", "Basic aWJ4X2dvb2Q6"],
    ["has the key alone", "ibx_good"],
    ["has no key", "Bearer"],
    ["has an empty key", "Bearer "],
    ["has an unknown key", "Bearer ibx_bad"],
    ["has the key in capitals", "Bearer IBX_GOOD"],
    ["has a part of the key", "Bearer ibx_goo"],
    ["has two keys", "Bearer ibx_good ibx_good"],
    ["has two credentials", "Bearer ibx_good, Bearer ibx_good"],
    ["has a key of strange characters", "Bearer ibx_gööd"],
    ["has an endless key", `Bearer ${"a".repeat(5000)}`],
  ] as const;

  test.each(bad)("gets the same response if it %s", async (_, field) => {
    const answer = await withField(field);
    const { request_id, ...problem } = await answer.json();
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect([answer.status, problem]).toEqual([
      401,
      {
        type: "about:blank",
        title: "Unauthorized",
        status: 401,
        detail: "Cannot authenticate: a valid API key is needed as Bearer token",
        instance: "/v1/boxes/1",
        code: "unauthorized",
        error: "unauthorized",
        message: "Cannot authenticate: a valid API key is needed as Bearer token",
      },
    ]);
    expect(request_id).toBe(answer.headers.get("x-request-id"));
  });

  test("takes the same steps for any error: the key is looked up each time", async () => {
    const before = door.keysAsked.length;
    for (const [, field] of bad) await (await withField(field)).text();
    expect(door.keysAsked.length - before).toBe(bad.length);
  });

  test("never passes the guard under /v1, however the path is written", async () => {
    for (const path of ["/v1", "/v1/", "/v1/boxes;x", "/v1//boxes", "/x/../v1/boxes/1", "/v1/%62oxes", "/v1\\boxes"]) {
      const connection = await connectRaw(door);
      connection.send(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect([path, (await connection.response())?.status]).toEqual([path, 401]);
      connection.end();
    }
  });

  test("is served on paths without a key", async () => {
    for (const path of ["/healthz", "/readyz", "/docs", "/openapi.json", "/docs/viewer.js"]) {
      expect([path, (await door.ask("GET", path, { headers: { authorization: "" } })).status]).toEqual([path, 200]);
    }
  });
});

test("A key that cannot be looked up is not a wrong key", async () => {
  await using away = openDoor({
    authenticate: () => {
      throw new DatabaseUnavailable("gone");
    },
  });
  const answer = await away.ask("GET", "/v1/boxes/1");
  expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
});
