import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

/** What the house forbids, and where; a rule that no longer sees it is as good as none. */
const forbidden: readonly [rule: string, path: string, line: string][] = [
  ["plugin", "domain/a1.ts", "export const at = Date.now();"],
  ["plugin", "domain/a2.ts", "export const at = new Date();"],
  ["plugin", "mail/a3.ts", "export const chance = Math.random();"],
  ["plugin", "store/a4.ts", "export const clock = { now: Date.now };"],
  ["plugin", "flows/a5.ts", "export const id = crypto.randomUUID();"],
  ["plugin", "http/a6.ts", "export const bytes = globalThis.crypto.getRandomValues(new Uint8Array(4));"],
  ["plugin", "smtp/a7.ts", 'import { randomBytes } from "node:crypto"; export const bytes = randomBytes(4);'],
  ["plugin", "workers/a8.ts", "export const id = Bun.randomUUIDv7();"],
  ["plugin", "service/a9.ts", "export const at = Date.now();"],

  ["noFloatingPromises", "flows/p1.ts", "const later = async () => 1; export const now = () => { later(); };"],

  ["plugin", "primitives/l23.ts", 'export * from "../standards/ip.ts";'],
  ["plugin", "primitives/l24.ts", 'export { connect } from "node:net";'],
  ["plugin", "standards/l25.ts", 'export * from "../primitives/within.ts";'],
  ["plugin", "domain/l26.ts", 'export * from "../primitives/within.ts";'],
  ["plugin", "standards/l1.ts", 'export * from "../domain/errors.ts";'],
  ["plugin", "domain/l2.ts", 'export * from "../mail/read/parse.ts";'],
  ["plugin", "domain/l3.ts", 'export type { Config } from "../config.ts";'],
  ["plugin", "domain/receive/l23.ts", 'export type { InboxPage } from "../../store/account/inboxes.ts";'],
  ["plugin", "domain/l4.ts", 'export { connect } from "node:net";'],
  ["plugin", "standards/l5.ts", 'export { Type } from "@sinclair/typebox";'],
  ["plugin", "mail/read/l6.ts", 'export * from "../../database/db.ts";'],
  ["plugin", "relay/l7.ts", 'export * from "../mail/write/compose.ts";'],
  ["plugin", "webhook/l8.ts", 'export type { Deps } from "../flows/deps.ts";'],
  ["plugin", "webhook/l21.ts", 'export * from "../relay/relay.ts";'],
  ["plugin", "dns/l22.ts", 'export * from "../relay/mx.ts";'],
  ["plugin", "blobs/l50.ts", 'export * from "../database/db.ts";'],
  ["plugin", "database/l9.ts", 'export * from "../store/schema.ts";'],
  ["plugin", "store/l10.ts", 'export * from "../mail/read/parse.ts";'],
  ["plugin", "store/mail/l11.ts", 'export type { ParsedMail } from "../../mail/read/parse.ts";'],
  ["plugin", "extract/l29.ts", 'export * from "../mail/read/parse.ts";'],
  ["plugin", "extract/links/l31.ts", 'export * from "../../mail/read/parse.ts";'],
  ["plugin", "extract/codes/l40.ts", 'export * from "../../mail/read/parse.ts";'],
  ["plugin", "extract/l30.ts", 'export type { Db } from "../store/schema.ts";'],
  ["plugin", "flows/l12.ts", 'export * from "../http/shell/app.ts";'],
  ["plugin", "flows/read/l13.ts", 'export const load = () => import("../../config.ts");'],
  ["plugin", "http/routes/l14.ts", 'export type { SmtpDoor } from "../../smtp/door.ts";'],
  ["plugin", "http/routes/mail/l48.ts", 'export type { SmtpDoor } from "../../../smtp/door.ts";'],
  ["plugin", "http/docs/browser/l27.ts", 'export * from "../../../domain/errors.ts";'],
  ["plugin", "http/docs/browser/l28.ts", 'export { z } from "zod";'],
  ["plugin", "console/l41.ts", 'export * from "../domain/errors.ts";'],
  ["plugin", "console/mail/l42.tsx", 'export type { Deps } from "../../flows/deps.ts";'],
  ["plugin", "console/parts/l43.ts", 'export { readFileSync } from "node:fs";'],
  ["plugin", "http/console/l44.ts", 'export * from "../../console/api.ts";'],
  ["plugin", "../sdk/typescript/src/a10.ts", "export const at = Date.now();"],
  ["plugin", "../sdk/typescript/src/l45.ts", 'export * from "../../../src/domain/errors.ts";'],
  ["plugin", "../sdk/typescript/src/l46.ts", 'export type { Refusal } from "../../../src/domain/errors.ts";'],
  ["plugin", "../sdk/typescript/src/l47.ts", 'export { createHmac } from "node:crypto";'],
  ["plugin", "mcp/l36.ts", 'export type { Deps } from "../flows/deps.ts";'],
  ["plugin", "mcp/l49.ts", 'export { foldText } from "../extract/folded-text.ts";'],
  ["plugin", "workers/outbox/l37.ts", 'export * from "../../mcp/tools.ts";'],
  ["plugin", "flows/read/l38.ts", 'export * from "../../mcp/tools.ts";'],
  ["plugin", "smtp/l15.ts", 'export * from "../domain/errors.ts";'],
  ["plugin", "workers/l16.ts", 'export * from "../http/shell/app.ts";'],
  ["plugin", "workers/outbox/l17.ts", 'export * from "../../service/start.ts";'],
  ["plugin", "workers/l27.ts", 'export * from "../control/server.ts";'],
  ["plugin", "control/l28.ts", 'export * from "../http/shell/app.ts";'],
  ["plugin", "control/l29.ts", 'export type { Service } from "../service/start.ts";'],
  ["plugin", "control/l30.ts", 'export { version } from "../version.ts";'],
  ["plugin", "metrics/l18.ts", 'export type { Service } from "../service/start.ts";'],
  ["plugin", "metrics/l31.ts", 'export * from "../control/server.ts";'],
  ["plugin", "commands/l19.ts", 'export * from "../smtp/listener.ts";'],
  ["plugin", "commands/doctor/l20.ts", 'export * from "../../workers/scheduler.ts";'],
  ["plugin", "commands/l32.ts", 'export * from "../control/server.ts";'],
  ["plugin", "commands/doctor/l33.ts", 'export * from "../../control/socket.ts";'],
  ["plugin", "service/l34.ts", 'export * from "../commands/serve.ts";'],
  ["plugin", "config.ts", 'export * from "./service/start.ts";'],

  ["plugin", "database/p1.ts", 'export { default } from "postgres";'],
  ["plugin", "database/p2.ts", 'export { PGlite } from "@electric-sql/pglite";'],
  ["plugin", "flows/p3.ts", 'export { sql } from "drizzle-orm";'],
  ["plugin", "mail/write/p4.ts", 'export { default } from "postal-mime";'],
  ["plugin", "mail/read/p5.ts", 'export { createMimeMessage } from "mimetext/browser";'],
  ["plugin", "mail/read/p17.ts", 'export { default } from "markdown-it";'],
  ["plugin", "http/routes/p18.ts", 'export { Dicer } from "@fastify/busboy";'],
  ["plugin", "mail/read/p6.ts", 'export { compile } from "html-to-text";'],
  ["plugin", "workers/p7.ts", 'export { default } from "nodemailer/lib/smtp-connection";'],
  ["plugin", "flows/p8.ts", 'export { SMTPServer } from "smtp-server";'],
  ["plugin", "flows/p9.ts", 'export { Elysia } from "elysia";'],
  ["plugin", "mcp/p14.ts", 'export { Elysia } from "elysia";'],
  ["plugin", "flows/p15.ts", 'export { Type } from "@sinclair/typebox";'],
  ["plugin", "http/routes/p16.ts", 'export { McpServer } from "@modelcontextprotocol/server";'],
  ["plugin", "http/p10.ts", 'export { Command } from "commander";'],
  ["plugin", "store/p11.ts", 'export { pino } from "pino";'],
  ["plugin", "dns/p13.ts", 'export { Resolver } from "node:dns/promises";'],
  ["plugin", "database/p12.ts", 'export { Database } from "bun:sqlite";'],

  ["plugin", "domain/s1.ts", "export const both = (a: number, b: number) => ({ ...{ a }, b });"],
  ["plugin", "flows/s2.ts", "export const all = (a: number, b: number[]) => [...[a, 2], ...b];"],
  ["plugin", "store/s3.ts", "export const call = (f: (...all: number[]) => void) => f(...[1, 2]);"],

  ["noImportCycles", "domain/c1.ts", 'import { two } from "./c2.ts"; export const one = () => two;'],
  ["noImportCycles", "domain/c2.ts", 'import { one } from "./c1.ts"; export const two = () => one;'],
  ["noImportCycles", "domain/c3.ts", 'import type { Four } from "./c4.ts"; export type Three = Four | 3;'],
  ["noImportCycles", "domain/c4.ts", 'import type { Three } from "./c3.ts"; export type Four = Three | 4;'],
  ["noProcessEnv", "store/e1.ts", "export const url = process.env.DATABASE_URL;"],
  ["noUndeclaredDependencies", "flows/d1.ts", 'export { default } from "fast-check";'],
];

/** What looks like it and is right. */
const allowed: readonly [path: string, line: string][] = [
  ["domain/r1.ts", "export const parsed = (text: string) => new Date(text);"],
  ["domain/r2.ts", 'export { createHash } from "node:crypto";'],
  ["domain/r3.ts", "export const draw = (deps: { randomBytes(n: number): Uint8Array }) => deps.randomBytes(4);"],
  ["domain/receive/r10.ts", 'export { shortDigest } from "../../standards/digest.ts";'],
  ["domain/receive/r11.ts", 'export { previewOf } from "../preview.ts";'],
  ["workers/r4.ts", "export const startedMs = () => performance.now();"],
  ["workers/r5.ts", 'export { relay } from "../relay/relay.ts";'],
  ["standards/r11.ts", 'export { boundedMemory } from "../primitives/memory.ts";'],
  ["webhook/r10.ts", 'export { within } from "../primitives/within.ts";'],
  ["relay/r9.ts", 'export { openDns } from "../dns/client.ts";'],
  ["store/mail/r7.ts", 'export { inboxes } from "../account/inboxes.ts";'],
  ["extract/r14.ts", 'export { visibleTextOf } from "../mail/html/html-walk.ts";'],
  ["extract/codes/r16.ts", 'export { foldText } from "../folded-text.ts";'],
  ["flows/read/r15.ts", 'export { codesOf } from "../../extract/codes/codes.ts";'],
  ["flows/read/r8.ts", 'export { textOfHtml } from "../../mail/html/html.ts";'],
  ["database/postgres.ts", 'export { default } from "postgres";'],
  ["service/time-and-chance.ts", "export const now = () => new Date();"],
  ["http/routes/r14.ts", 'export { tools } from "../../mcp/tools.ts";'],
  [
    "http/routes/mail/r20.ts",
    'export { isId } from "../../../domain/ids.ts"; export { api } from "../../shell/app.ts";',
  ],
  ["mcp/r15.ts", 'export { withoutInvisible } from "../standards/invisible.ts";'],
  ["mcp/r21.ts", 'export { Inboxd } from "../../sdk/typescript/src/inboxd.ts";'],
  ["../sdk/typescript/src/r19.ts", 'export { machine } from "./machine.ts";'],
  ["../sdk/typescript/src/machine.ts", "export const machine = { now: () => Date.now() };"],
  ["console/r17.ts", 'export { Inboxd } from "../../sdk/typescript/src/inboxd.ts";'],
  ["console/mail/r18.ts", 'export { href } from "../address.ts"; export { signal } from "@preact/signals";'],
  ["control/r12.ts", 'export type { Deps } from "../flows/deps.ts";'],
  ["commands/r13.ts", 'export { askService } from "../control/client.ts";'],
  [
    "domain/r20.ts",
    "export const some = (a?: number) => ({ ...(a !== undefined && { a }), b: [...[1].map(String)] });",
  ],
  ["domain/r21.ts", "export const all = (rest: object, some: number[]) => ({ ...rest, all: [...some, 1] });"],
  ["commands/r6.ts", "export const environment = process.env;"],
];

const house = join(import.meta.dir, "..");
const directory = mkdtempSync(join(tmpdir(), "ibx-lint-"));
let found: ReadonlyMap<string, Set<string>>;

beforeAll(async () => {
  for (const name of ["biome.json", "package.json", "lint", ".gitignore"])
    cpSync(join(house, name), join(directory, name), { recursive: true });
  for (const [, path, line] of forbidden) await Bun.write(join(directory, "src", path), `${line}\n`);
  for (const [path, line] of allowed) await Bun.write(join(directory, "src", path), `${line}\n`);
  found = await lint();
});

afterAll(() => rmSync(directory, { recursive: true }));

test.each(forbidden)("%s forbids in src/%s: %s", (rule, path) => {
  expect([...(found.get(path) ?? [])]).toContain(rule);
});

test.each(allowed)("the rules allow in src/%s: %s", (path) => {
  expect([...(found.get(path) ?? [])]).toEqual([]);
});

/** The rules that each file breaks. */
async function lint(): Promise<Map<string, Set<string>>> {
  const biome = Bun.spawn(
    [join(house, "node_modules/.bin/biome"), "lint", "--reporter=github", "--max-diagnostics=none", "src", "sdk"],
    { cwd: directory, stdout: "pipe", stderr: "pipe" },
  );
  const rules = new Map<string, Set<string>>();
  for (const line of (await new Response(biome.stdout).text()).split("\n")) {
    const [, title = "", file = ""] = /^::\w+ title=([^,]+),file=([^,]+),/.exec(line) ?? [];
    const path = relative(join(directory, "src"), file);
    const rule = title.split("/").at(-1) ?? "";
    rules.set(path, (rules.get(path) ?? new Set()).add(rule));
  }
  return rules;
}
