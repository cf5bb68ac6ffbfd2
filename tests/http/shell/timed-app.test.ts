import { expect, test } from "bun:test";
import { routeNames, timedApp } from "../../../src/http/shell/timed-app.ts";

const routeOf = routeNames([
  "/*",
  "/healthz",
  "/v1/inboxes",
  "/v1/inboxes/:id",
  "/v1/webhook/:what",
  "/v1/webhook/test",
  "/v1/inboxes/:id/send",
  "/v1/*",
]);

const paths: readonly [path: string, route: string][] = [
  ["/healthz", "/healthz"],
  ["/v1/inboxes", "/v1/inboxes"],
  ["/v1/inboxes/inb_01", "/v1/inboxes/:id"],
  ["/v1/inboxes/inb_01/send", "/v1/inboxes/:id/send"],
  ["/v1/webhook/test", "/v1/webhook/test"],
  ["/v1/webhook/other", "/v1/webhook/:what"],
  ["/v1/inboxes/inb_01/other", "other"],
  ["/v1/inboxes/inb_01/send/more", "other"],
  ["/", "other"],
  ["/wp-login.php", "other"],
  ["", "other"],
];

test.each(paths)("%s is a request to %s", (path, route) => {
  expect(routeOf(path)).toBe(route);
});

test("each response is reported with its method, route and status, and returned unchanged", async () => {
  const told: unknown[] = [];
  const app = {
    routes: [{ path: "/v1/inboxes/:id" }],
    fetch: async (request: Request) => new Response(request.method, { status: request.url.includes("?") ? 404 : 200 }),
  };
  const served = timedApp(app, (method, route, status, seconds) => {
    expect(seconds).toBeWithin(0, 5);
    told.push([method, route, status]);
  });
  const one = await served.fetch(new Request("http://localhost/v1/inboxes/inb_01"));
  await served.fetch(new Request("http://localhost/v1/inboxes/inb_01?a=/b", { method: "DELETE" }));
  await served.fetch(new Request("http://localhost/else", { method: "PROPFIND" }));
  expect(await one.text()).toBe("GET");
  expect(told).toEqual([
    ["GET", "/v1/inboxes/:id", 200],
    ["DELETE", "/v1/inboxes/:id", 404],
    ["other", "other", 200],
  ]);
});
