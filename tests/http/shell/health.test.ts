import { describe, expect, test } from "bun:test";
import { DatabaseUnavailable } from "../../../src/database/db.ts";
import { openDoor } from "../../support/http-door.ts";

describe("Health", () => {
  test("depends on the process only: it answers while nothing else does", async () => {
    await using door = openDoor({ health: () => Promise.reject(new DatabaseUnavailable("gone")) });
    door.drain();
    for (const path of ["/healthz", "/health"]) {
      const answer = await door.ask("GET", path, { headers: { authorization: "" } });
      expect([path, answer.status, await answer.json()]).toEqual([path, 200, { status: "ok", cell: "00" }]);
      expect(answer.headers.get("x-inboxd-service")).toBe("service-of-tests");
    }
  });
});

describe("Readiness", () => {
  test("is reported when everything works", async () => {
    await using door = openDoor();
    const answer = await door.ask("GET", "/readyz");
    expect([answer.status, await answer.json()]).toEqual([200, { status: "ready" }]);
  });

  test.each([
    [
      "what is missing",
      { health: async () => ({ ready: false, reason: "the database is not migrated" }) as const },
      "Cannot answer: the database is not migrated",
    ],
    [
      "that the database is away",
      { health: () => Promise.reject(new DatabaseUnavailable("canary-host")) },
      "Cannot answer: the database is away",
    ],
    ["that the service is ending", { isDraining: () => true }, "Cannot answer: the service is shutting down"],
  ])("is refused with the reason: %s", async (_, own, detail) => {
    await using door = openDoor(own);
    const answer = await door.ask("GET", "/readyz");
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(await answer.json()).toMatchObject({ status: 503, code: "service_unavailable", detail });
  });
});
