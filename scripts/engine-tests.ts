import { readFileSync } from "node:fs";
import { join } from "node:path";
import { directImports, importsOf } from "./imports.ts";
import { filesIn, house } from "./sources.ts";

/** Fixtures whose tests run once: they test pages and documents, which are the same on both engines, and take a fifth of the time. */
const once = ["tests/support/browser.ts", "tests/support/foreign-tools.ts"].map((path) => join(house, path));

/**
 * Rooms whose tests ask a running service as a client does: their commands, tools and pages are the same on both engines, and the statements
 * behind them have tests of their own.
 */
const clients = [
  "tests/guides/",
  "tests/http/connect/conformance.test.ts",
  "tests/http/console/",
  "tests/http/docs/",
  "tests/http/document/",
  "tests/http/routes/mcp.test.ts",
  "tests/http/shell/cors.test.ts",
  "tests/mcp/",
  "tests/sdk/",
  "tests/docs.test.ts",
  // Each operation with keys of each access and reach: the statements behind them have tests of their own.
  "tests/http/routes/access.test.ts",
  // How slow listeners and mail servers elsewhere are, and what these understand, is tested over sockets.
  "tests/http/routes/events/silent-listeners.test.ts",
  "tests/http/routes/events/slow-listeners.test.ts",
  "tests/receiving/authentication.test.ts",
  "tests/receiving/hostile-senders.test.ts",
  "tests/receiving/judge.test.ts",
  "tests/receiving/postfix-reports.test.ts",
  "tests/receiving/sender-address.test.ts",
  "tests/receiving/senders.test.ts",
  "tests/receiving/servers-in-front.test.ts",
  "tests/receiving/spf-suite.test.ts",
  "tests/sending/failure-type.test.ts",
  "tests/sending/on-the-wire.test.ts",
  // How relays sign and spell their notices: that of Mailgun has a test on both.
  "tests/sending/relay-notices-of-several.test.ts",
  "tests/sending/relay-notices.test.ts",
  "tests/sending/tarpits.test.ts",
  "tests/smtp/",
];

/** Tests that name the embedded engine themselves, and so use it in both runs. A test holds them to that. */
export const alwaysEmbedded = [
  "tests/control/server.test.ts",
  "tests/database/embedded-statements.test.ts",
  "tests/database/embedded-thread.test.ts",
  "tests/flows/read/attachment-text.test.ts",
  "tests/http/routes/account/audit.test.ts",
  "tests/http/routes/admin/operators.test.ts",
  "tests/sending/validation.test.ts",
];
const databaseFixture = join(house, "tests/support/database.ts");

/** Every test file, by its path from the root of the repository. */
export function allTests(): string[] {
  return filesIn("tests").filter((path) => path.endsWith(".test.ts"));
}

/**
 * The test files that run on both engines. A test learns its engine from TEST_DATABASE_URL alone, so a file that neither reads it nor
 * imports a module that does would only repeat itself. Tests with the fixtures of `once`, tests of clients and those that name their engine
 * do not run on both either. A test of a command does if it opens a database itself, since a command may use the database without the
 * service.
 */
export function engineTests(): string[] {
  return allTests().filter((path) => {
    const file = join(house, path);
    const imports = importsOf(file);
    if (once.some((fixture) => imports.has(fixture)) || ![...imports].some(readsEngine)) return false;
    if (path.startsWith("tests/commands/")) return readsEngine(file) || opensDatabase(file);
    return ![...clients, ...alwaysEmbedded].some((room) => path.startsWith(room));
  });
}

/** Whether a test file itself imports the fixture that makes a database. */
function opensDatabase(file: string): boolean {
  return directImports(file).some(({ path }) => path === databaseFixture);
}

/** Whether a source file names the variable that chooses the engine. */
export function readsEngine(path: string): boolean {
  const before = known.get(path);
  if (before !== undefined) return before;
  const reads = readFileSync(path, "utf8").includes("TEST_DATABASE_URL");
  known.set(path, reads);
  return reads;
}

const known = new Map<string, boolean>();
