import { afterAll, beforeAll, describe } from "bun:test";
import type { Page } from "playwright-core";
import { transaction } from "../../src/database/db.ts";
import { findFirstAccount } from "../../src/store/account/accounts.ts";
import { insertEvents } from "../../src/store/events/fan-out.ts";
import { type Browser, chromiumPath, type Look, startBrowser, type WatchedPage } from "../support/browser.ts";
import { startWorld, type World, type WorldInbox, type WorldOptions } from "../support/world.ts";

/** Tests that are skipped on a machine without a browser. */
export const describeInBrowser = describe.skipIf(chromiumPath === undefined);

interface ConsoleSetup {
  browser: Browser;
  world: World;
}

/** Starts a browser and a world before the tests of a `describe`, and closes them afterwards. */
export function setUpConsole(options: WorldOptions | (() => Promise<WorldOptions>) = {}): ConsoleSetup {
  const setup = {} as ConsoleSetup;
  beforeAll(async () => {
    const started = async () => startWorld(typeof options === "function" ? await options() : options);
    [setup.browser, setup.world] = await Promise.all([startBrowser(), started()]);
  }, 60_000);
  afterAll(async () => {
    await setup.browser?.[Symbol.asyncDispose]();
    await setup.world?.[Symbol.asyncDispose]();
  });
  return setup;
}

export const consoleOf = (world: World, path = "") => new URL(`/console/${path}`, world.service.apiUrl);

/** Opens a page of the console and signs in with the key of the world. */
export async function signedIn({ browser, world }: ConsoleSetup, path = "", look: Look = {}): Promise<WatchedPage> {
  const watched = await browser.open(consoleOf(world, path), look);
  await watched.page.fill("#key", world.apiKey);
  await watched.page.press("#key", "Enter");
  await watched.page.locator("#navigation").waitFor({ state: "attached" });
  return watched;
}

/** Opens a screen without loading the page again. */
export async function goTo(page: Page, path: string): Promise<void> {
  await page.evaluate((address) => {
    history.pushState(null, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
  }, `/console/${path}`);
}

/** Tells a page that its tab is hidden, or shown again. */
export function setHidden(page: Page, isHidden: boolean): Promise<void> {
  return page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

export interface Letter {
  subject: string;
  text?: string;
  html?: string;
  from?: string;
  name?: string;
  /** Further header lines. */
  head?: readonly string[];
}

/** Delivers a mail from Jane and returns the id of its thread. */
export async function arrive(
  world: World,
  inbox: WorldInbox,
  { subject, text = "Hello", html, from = "jane@example.com", name = "Jane Doe", head: further = [] }: Letter,
): Promise<string> {
  const type = html === undefined ? "text/plain" : "text/html";
  const head = [
    ...further,
    `From: =?utf-8?b?${Buffer.from(name).toString("base64")}?= <${from}>`,
    `Subject: ${subject}`,
    "MIME-Version: 1.0",
    `Content-Type: ${type}; charset=utf-8`,
  ];
  const reply = await world.deliver([...head, "", html ?? text, ""].join("\r\n"), inbox.address, from);
  if (!reply.startsWith("250")) throw new Error(`Cannot deliver ${subject}: ${reply}`);
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/threads?limit=1`);
  return body.data[0].id;
}

export async function send(world: World, inbox: WorldInbox, email: object): Promise<string> {
  const headers = { "idempotency-key": `${Bun.hash(JSON.stringify(email))}` };
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/send`, { method: "POST", headers, body: email });
  if (body.messageId === undefined) throw new Error(`Cannot send: ${JSON.stringify(body)}`);
  return body.messageId;
}

/** Writes this many events about an inbox to the log, 100 at a time. */
export async function fillLog({ service: { deps }, clock }: World, inbox: WorldInbox, count: number): Promise<void> {
  const account = await findFirstAccount(deps.db.api);
  const createdAt = clock.now();
  const made = () => ({
    id: deps.newId("evt", createdAt),
    accountId: account?.id ?? "",
    inboxId: inbox.id,
    threadId: null,
    messageId: null,
    type: "inbox.created" as const,
    occurredAt: createdAt,
    data: { address: inbox.address, externalId: null, createdAt: createdAt.toISOString() },
  });
  await transaction(deps.db.api, async (tx) => {
    for (let left = count; left > 0; left -= 100) {
      await insertEvents(tx, Array.from({ length: Math.min(left, 100) }, made));
    }
  });
}
