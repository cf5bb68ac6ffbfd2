import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Draft } from "../../../../src/http/docs/browser/draft.ts";
import { sampleOf } from "../../../../src/http/docs/browser/samples.ts";
import { type Document, type ReferenceOperation, referenceOf } from "../../../../src/http/docs/reference.ts";
import { tryBodies, tryQuery, tryType } from "../../../../src/http/docs/try-bodies.ts";
import { type SdkProject, sdkProject } from "../../../support/sdk-project.ts";
import { startWorld } from "../../../support/world.ts";

let operations: ReferenceOperation[];
let project: SdkProject;
beforeAll(async () => {
  await using world = await startWorld();
  const document: Document = await (await world.fetch("/openapi.json", { apiKey: null })).json();
  operations = referenceOf(document).groups.flatMap((group) => group.operations);
  project = sdkProject();
});
afterAll(() => project?.[Symbol.dispose]());

/** What a form has at the first click, with every parameter of the query that `isGiven`. */
function draftOf(operation: ReferenceOperation, base: string, isGiven: (name: string) => boolean): Draft {
  const { operationId, method, path, parameters = [] } = operation;
  const of = (place: string) => parameters.filter((parameter) => parameter.in === place);
  const pathValues = Object.fromEntries(of("path").map(({ name }) => [name, `${name}-1`]));
  const query = of("query")
    .filter(({ name, required }) => required || isGiven(name))
    .map((parameter) => ({
      name: parameter.name,
      value: exampleValue(parameter),
      kind: typeof parameter.schema?.type === "string" ? parameter.schema.type : "string",
    }));
  const [body] = tryBodies(operation);
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => pathValues[name] ?? "");
  const search = new URLSearchParams(query.map(({ name, value }) => [name, value])).toString();
  const filledIn = of("header").filter(({ name, required }) => required || name === "Idempotency-Key");
  return {
    operationId,
    method,
    base,
    path,
    pathValues,
    query,
    url: `${base}${filled}${search && `?${search}`}`,
    needsKey: true,
    headers: [
      ...(body ? [["Content-Type", tryType(operation)] as const] : []),
      ...filledIn.map(({ name }) => [name, "try-1"] as const),
    ],
    body: body?.text,
  };
}

function exampleValue(parameter: Parameters<typeof tryQuery>[0]): string {
  const { schema = {}, example } = parameter;
  return (
    tryQuery(parameter) ||
    String(example ?? schema.enum?.[0] ?? (schema.type === "boolean" ? true : (schema.minimum ?? 1)))
  );
}

/** Parameters that a list of the client sets itself. */
const ofPaging: ReadonlySet<string> = new Set(["cursor", "offset", "after", "before", "order"]);

test("Each operation has a sample with the client that a strict compiler takes", async () => {
  for (const operation of operations) {
    const draft = draftOf(operation, "http://127.0.0.1:3000", (name) => !ofPaging.has(name));
    project.write(`${operation.operationId}.ts`, sampleOf("typescript", draft));
  }
  expect(operations.length).toBeGreaterThan(50);
  expect(await project.compiled()).toBe("");
  const list = operations.find(({ operationId }) => operationId === "listInboxes") ?? expect.unreachable();
  project.write(
    "wrong.ts",
    sampleOf("typescript", {
      ...draftOf(list, "http://x", () => false),
      query: [{ name: "limt", value: "1", kind: "integer" }],
    }),
  );
  expect(await project.compiled()).toContain("wrong.ts");
}, 120_000);

test("A parameter of the path that is not filled in yet has its name in the sample", () => {
  const operation = operations.find(({ operationId }) => operationId === "getMessage") ?? expect.unreachable();
  const draft = { ...draftOf(operation, "http://x", () => false), pathValues: { id: "" } };
  expect(sampleOf("typescript", draft)).toContain('inboxd.messages.get("<id>")');
});

test("Only operations outside of the API, that of a relay, and other paths of the keys are called by their path", () => {
  const byPath = operations.filter((operation) =>
    sampleOf(
      "typescript",
      draftOf(operation, "http://x", () => false),
    ).includes("inboxd.request("),
  );
  expect(byPath.map(({ operationId }) => operationId).toSorted()).toEqual([
    "checkHealth",
    "checkReadiness",
    "createInboxKey",
    "decideOnApprovalPage",
    "getOpenAPIDocument",
    "listInboxKeys",
    "readAttachmentByDownloadPath",
    "readDocumentation",
    "revokeInboxKey",
    "showApprovalPage",
    "showUnsubscribePage",
    "takeRelayNotices",
    "unsubscribe",
  ]);
});

test("Each sample with the client sends what its form sends", async () => {
  const came: { method: string; url: string; key: string | null; idempotency: string | null; body: string }[] = [];
  await using server = Bun.serve({
    port: 0,
    async fetch(request) {
      const { method, url, headers } = request;
      const [key, idempotency] = ["authorization", "idempotency-key"].map((name) => headers.get(name)) as [
        string,
        string,
      ];
      came.push({ method, url, key, idempotency, body: await request.text() });
      return Response.json({ data: [], total: 0, nextCursor: null, hasMore: false });
    },
  });
  const drafts = operations
    .filter(({ operationId }) => operationId !== "streamEvents")
    .map((operation) => draftOf(operation, server.url.origin, (name) => name === "limit"));
  const files = drafts.map(({ operationId }) => `run-${operationId}.js`);
  const transpiler = new Bun.Transpiler({ loader: "ts" });
  for (const [index, draft] of drafts.entries())
    project.write(files[index] ?? "", transpiler.transformSync(sampleOf("typescript", draft)));
  project.write("run-all.js", files.map((file) => `await import("./${file}");`).join("\n"));
  const child = Bun.spawn([process.execPath, join(project.directory, "run-all.js")], {
    env: { PATH: process.env.PATH, INBOXD_API_KEY: "ibx_secret" },
    stdout: "ignore",
    stderr: "pipe",
  });
  expect(await new Response(child.stderr).text()).toBe("");
  expect(came).toHaveLength(drafts.length);
  for (const [index, draft] of drafts.entries()) {
    const { method, url, key, idempotency, body } = came[index] ?? expect.unreachable();
    const [is, wanted] = [new URL(url), new URL(draft.url)];
    expect([draft.operationId, method, is.pathname]).toEqual([draft.operationId, draft.method, wanted.pathname]);
    for (const [name, value] of wanted.searchParams)
      expect([draft.operationId, name, is.searchParams.get(name)]).toEqual([draft.operationId, name, value]);
    expect(key).toBe("Bearer ibx_secret");
    if (draft.headers.some(([name]) => name === "Idempotency-Key")) expect(idempotency).toBe("try-1");
    const isJson = draft.headers.some(([, type]) => type === "application/json");
    expect([draft.operationId, isJson ? JSON.parse(body) : body]).toEqual([
      draft.operationId,
      isJson ? JSON.parse(draft.body ?? "") : (draft.body ?? ""),
    ]);
  }
});
