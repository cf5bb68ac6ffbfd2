import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventTypes } from "../../src/domain/events/event-types.ts";
import { startWorld, type World } from "../support/world.ts";

const guide = readFileSync(join(import.meta.dir, "../../docs/migrating.md"), "utf8");

/** The rows of the tables whose first heading is this. */
function rowsUnder(heading: RegExp): { service: string; theirs: string; ours: string }[] {
  return guide.split(/^## /m).flatMap((section) => {
    const service = section.split("\n")[0] ?? "";
    return Array.from(section.matchAll(/^\| (.+) \| (.+) \|\n\|---\|---\|\n((?:\|.*\n)+)/gm)).flatMap(
      ([, head = "", , rows = ""]) =>
        heading.test(head)
          ? rows
              .trim()
              .split("\n")
              .map((row) => {
                const [, theirs = "", ours = ""] = /^\| (.+) \| (.+) \|$/.exec(row) ?? [];
                return { service, theirs, ours };
              })
          : [],
    );
  });
}

const word = /^`(\w+)`$/;
const rows = rowsUnder(/^(?:Resend|AgentMail|OpenMail|Mailpit)$/);
const fields = rows.flatMap(({ service, theirs, ours }) => {
  const [one, other] = [word.exec(theirs)?.[1], word.exec(ours)?.[1]];
  return one === undefined || other === undefined ? [] : [{ service, theirs: one, ours: other }];
});

let world: World;
beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world?.[Symbol.asyncDispose]());

test("There are tables of each service", () => {
  expect([...new Set(rows.map(({ service }) => service))]).toEqual(["Resend", "AgentMail", "OpenMail", "Mailpit"]);
  expect(rows.length).toBeGreaterThan(35);
  expect(fields.length).toBe(7);
});

test("Each operation in our column is in the document", async () => {
  const { paths } = await (await world.fetch("/openapi.json", { apiKey: null })).json();
  const named = rows.flatMap(({ ours }) =>
    Array.from(
      ours.matchAll(/`(GET|POST|PUT|PATCH|DELETE) (\/[^`?]*)/g),
      ([, method = "", path = ""]) => [method, path] as const,
    ),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter(([method, path]) => paths[path]?.[method.toLowerCase()] === undefined)).toEqual([]);
});

describe.each(fields)("$service's field $theirs", ({ theirs, ours }) => {
  test(`is refused with ours, ${ours}, by name`, async () => {
    const { id } = await world.inbox();
    const isOfInbox = ours === "externalId";
    const { status, body } = await world.api(isOfInbox ? "/v1/inboxes" : `/v1/inboxes/${id}/send`, {
      method: "POST",
      headers: { "idempotency-key": `migrating-${theirs}` },
      body: isOfInbox ? { [theirs]: "x" } : { to: "jane@example.com", subject: "Hi", body: "Hi", [theirs]: "x" },
    });
    expect([status, body.errors.map(({ detail }: { detail: string }) => detail).join()]).toEqual([
      400,
      expect.stringContaining(`"${ours}"`),
    ]);
  });
});

test("Each event in our column is one of ours, and each outcome of a mail is in the table of Resend", () => {
  const events = rowsUnder(/'s events$/);
  const ours = events.map((row) => row.ours.replaceAll("`", ""));
  expect(ours.filter((name) => !(eventTypes as readonly string[]).includes(name))).toEqual([]);
  const ofResend = events.filter(({ service }) => service === "Resend").map((row) => row.ours.replaceAll("`", ""));
  // Resend blocks no mail by rules, so it has no such event.
  const missing = eventTypes.filter((name) => name.startsWith("message.") && !ofResend.includes(name));
  expect(missing).toEqual(["message.blocked"]);
});
