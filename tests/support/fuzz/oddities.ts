import type { Change } from "./draft.ts";
import { oddText, oddValue } from "./values.ts";

/** Changes to any request, which the service must survive. */
export const oddities: readonly Change[] = [
  odd("odd fields", (draft, chance) => {
    if (typeof draft.json !== "object" || draft.json === null) return;
    const names = Object.keys(draft.operation.body?.properties ?? {});
    for (const name of names) if (chance.is(0.4)) Object.assign(draft.json, { [name]: oddValue(chance) });
    if (chance.is(0.5)) Object.assign(draft.json, { [oddText(chance.whole(0, 20), chance)]: oddValue(chance) });
  }),
  odd("odd query", (draft, chance) => {
    const names = draft.operation.parameters.filter((each) => each.in === "query").map(({ name }) => name);
    for (const name of [...names, "is_read", "cursor", "x".repeat(chance.whole(0, 50))]) {
      if (chance.is(0.4)) draft.query.push([name, asText(oddValue(chance))]);
    }
  }),
  odd("query that is none", (draft, chance) => {
    draft.tail = chance.pick([
      "?",
      "?%",
      "?%zz=%zz",
      "?limit",
      "?limit=",
      "?&&==&",
      "?limit[]=1",
      "?a=b?c=d",
      "?%00=%00",
    ]);
  }),
  odd("odd path", (draft, chance) => {
    for (const name of Object.keys(draft.path)) {
      draft.path[name] = chance.pick([
        oddText(chance.whole(1, 60), chance).toWellFormed(),
        "%",
        "%zz",
        "%00",
        "..",
        "null",
      ]);
    }
  }),
  odd("longer path", (draft, chance) => {
    draft.tail = chance.pick(["/", "//", "/x", "/%2e%2e", ";x=1", "/messages", "%20"]);
  }),
  odd("another method", (draft, chance) => {
    draft.method = chance.pick(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
    if (draft.method === "GET" || draft.method === "HEAD") draft.json = draft.body = undefined;
  }),
  odd("odd headers", (draft, chance) => {
    for (const name of oddHeaders) if (chance.is(0.3)) draft.headers[name] = chance.pick(oddHeaderValues);
  }),
  odd("odd length", (draft) => {
    if (draft.method !== "GET" && draft.method !== "HEAD") draft.body = "x".repeat(2_000_001);
  }),
];

export function byToken(token: string): Change {
  return odd("a token", (draft) => Object.assign(draft.headers, { authorization: `Bearer ${token}` }));
}

function odd(name: string, change: Change["change"]): Change {
  return { name, intent: "odd", change };
}

const oddHeaders: readonly string[] = [
  "accept",
  "accept-encoding",
  "content-type",
  "content-encoding",
  "range",
  "if-none-match",
  "if-range",
  "prefer",
  "idempotency-key",
  "x-request-id",
  "authorization",
  "x-forwarded-for",
  "cookie",
  "expect",
];

const oddHeaderValues: readonly string[] = [
  "",
  " ",
  "*",
  "*/*",
  "x",
  '"',
  '"x',
  "bytes=0-",
  "bytes=-1",
  "bytes=5-1",
  "bytes=0-0,1-1",
  "bytes=9999999-",
  "gzip",
  "identity",
  "respond-async",
  "application/json",
  "text/html",
  "application/json;q=0",
  "é",
  "x".repeat(2000),
  "Bearer x",
  "application/json; charset=utf-16",
  'W/"x", *',
  "100-continue",
];

/** Not every value can be written as text. */
function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
