import { expect, test } from "bun:test";
import { Inboxd } from "../../sdk/typescript/src/inboxd.ts";
import { failureOf } from "../support/failure.ts";
import { startWorld } from "../support/world.ts";

/**
 * Operations without a method: pages and probes, which no program calls as an account, the links of a recipient and an approver, the door of a relay, and
 * other paths to `/v1/keys` and to the text of an attachment.
 */
const leftOut = [
  "GET /docs",
  "GET /healthz",
  "GET /openapi.json",
  "GET /readyz",
  "POST /v1/relay-notices",
  "GET /u/ID",
  "POST /u/ID",
  "GET /approve/ID",
  "POST /approve/ID",
  "DELETE /v1/inboxes/ID/api-keys/ID",
  "GET /v1/inboxes/ID/api-keys",
  "POST /v1/inboxes/ID/api-keys",
  "GET /v1/attachments/ID/ID/text",
];

test("the client has a method for each operation of the document", async () => {
  await using world = await startWorld();
  const { body: document } = await world.api("/openapi.json");
  const operations = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, "ID")}`),
  );
  const called = await calledByMethods();
  expect(operations.length).toBeGreaterThan(40);
  expect([...called].toSorted()).toEqual(operations.filter((name) => !leftOut.includes(name)).toSorted());
});

/** Calls each method of each resource, and returns the operations that arrive. */
async function calledByMethods(): Promise<Set<string>> {
  const called = new Set<string>();
  const fetch = async (url: string | URL, { method = "GET" }: RequestInit) => {
    called.add(`${method} ${new URL(url).pathname}`);
    return Response.json({ code: "not_found", detail: "There is nothing here" }, { status: 404 });
  };
  const inboxd = new Inboxd({ baseUrl: "http://mail.example", apiKey: "key", fetch, retries: 0 });
  const isResource = (value: unknown) => typeof value === "object" && value !== null;
  for (const resource of Object.values(inboxd).filter(isResource)) {
    for (const call of Object.values(resource) as ((...args: unknown[]) => unknown)[]) {
      const result = call("ID", "ID", undefined) as Promise<unknown> & {
        page?(): Promise<unknown>;
        next?(): Promise<unknown>;
      };
      const pending = result.page?.() ?? result.next?.() ?? result;
      expect(await failureOf(pending)).toMatchObject({ code: "not_found" });
    }
  }
  return called;
}
