import type { Page } from "playwright-core";
import type { Browser, Look, WatchedPage } from "../support/browser.ts";
import type { World, WorldInbox } from "../support/world.ts";

export const consoleOf = (world: World, path = "") => new URL(`/console/${path}`, world.service.apiUrl);

/** A page of the console, in which the holder of the world's key has signed in. */
export async function signedIn(browser: Browser, world: World, path = "", look: Look = {}): Promise<WatchedPage> {
  const watched = await browser.open(consoleOf(world, path), look);
  await watched.page.fill("#key", world.apiKey);
  await watched.page.press("#key", "Enter");
  await watched.page.locator("#navigation").waitFor({ state: "attached" });
  return watched;
}

/** Goes there without a new page. */
export async function goTo(page: Page, world: World, path: string): Promise<void> {
  await page.evaluate((address) => {
    history.pushState(null, "", address);
    dispatchEvent(new PopStateEvent("popstate"));
  }, consoleOf(world, path).pathname + consoleOf(world, path).search);
}

export interface Letter {
  subject: string;
  text?: string;
  html?: string;
  from?: string;
  /** Further lines of its head. */
  head?: readonly string[];
}

/** Hands in a mail from Jane; gives the id of its thread. */
export async function arrive(
  world: World,
  inbox: WorldInbox,
  { subject, text = "Hello", html, from = "jane@example.com", head: further = [] }: Letter,
): Promise<string> {
  const type = html === undefined ? "text/plain" : "text/html";
  const head = [
    ...further,
    `From: Jane Doe <${from}>`,
    `Subject: ${subject}`,
    "MIME-Version: 1.0",
    `Content-Type: ${type}; charset=utf-8`,
  ];
  const reply = await world.deliver([...head, "", html ?? text, ""].join("\r\n"), inbox.address, from);
  if (!reply.startsWith("250")) throw new Error(`Cannot hand in ${subject}: ${reply}`);
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/threads?limit=1`);
  return body.data[0].id;
}

export async function send(world: World, inbox: WorldInbox, email: object): Promise<string> {
  const headers = { "idempotency-key": `${Bun.hash(JSON.stringify(email))}` };
  const { body } = await world.api(`/v1/inboxes/${inbox.id}/send`, { method: "POST", headers, body: email });
  if (body.messageId === undefined) throw new Error(`Cannot send: ${JSON.stringify(body)}`);
  return body.messageId;
}
