import { afterAll, expect, test } from "bun:test";
import { openDoor } from "../../support/http-door.ts";

const door = openDoor();
afterAll(() => door.server.stop(0));

test.each(["GET", "HEAD"])("The root and the docs with a slash too many lead to the docs: %s", async (method) => {
  for (const path of ["/", "/docs/", "/?utm_source=mail"]) {
    const answer = await door.ask(method, path, { redirect: "manual", headers: { authorization: "" } });
    const location = answer.headers.get("location") ?? "";
    expect([path, answer.status, location]).toEqual([path, 302, path === "/docs/" ? "../docs" : "docs"]);
    // Under a proxy's prefix too.
    for (const prefix of ["", "/mail"]) {
      expect(new URL(location, `http://proxy.example${prefix}${path}`).pathname).toBe(`${prefix}/docs`);
    }
  }
});

test("Whoever follows is at the page", async () => {
  for (const path of ["/", "/docs/"]) {
    const answer = await door.ask("GET", path);
    expect([answer.status, new URL(answer.url).pathname]).toEqual([200, "/docs"]);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  }
});

test("Other methods are told what there is", async () => {
  const answer = await door.ask("POST", "/");
  expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
});
