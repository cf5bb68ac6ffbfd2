import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { startWorld, type World, type WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, goTo, signedIn } from "./support.ts";

describe.skipIf(chromiumPath === undefined)("By the keyboard, beside the list of an inbox,", () => {
  let browser: Browser;
  let world: World;
  let ada: WorldInbox;
  beforeAll(async () => {
    [browser, world] = await Promise.all([startBrowser(), startWorld()]);
    ada = await world.inbox("ada");
    for (const subject of ["First", "Second", "Third"]) await arrive(world, ada, { subject });
  }, 60_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const listOf = () => `inboxes/${ada.id}`;
  const linkTo = (name: string) => (page: Page) => page.getByRole("link", { name, exact: true });
  const buttonOf = (name: string) => (page: Page) => page.getByRole("button", { name, exact: true });

  test.each([
    ["a link of the navigation", linkTo("Outbox"), "/console/outbox"],
    ["a tab", linkTo("Unread"), "?view=unread"],
    ["the way to write", linkTo("Write from ada@inbox.localhost"), "/console/compose?"],
  ])("Enter on %s goes where it leads", async (_, control, address) => {
    const { page } = await signedIn(browser, world, listOf());
    await page.locator("[data-thread]").first().waitFor();
    await control(page).press("Enter");
    await page.waitForURL((url) => url.href.includes(address));
    await page.context().close();
  });

  test("Enter on a button of the selection does what it says", async () => {
    const { page } = await signedIn(browser, world, listOf());
    await page.locator("[data-thread]").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await buttonOf("Mark read")(page).press("Enter");
    await page.locator(".thread:not(.is-unread)").waitFor();
    await buttonOf("Mark read")(page).waitFor({ state: "detached" });
    expect(page.url()).toBe(consoleOf(world, listOf()).href);
    await page.context().close();
  });

  test("Enter on the menu of a phone opens it", async () => {
    const { page } = await signedIn(browser, world, listOf(), { width: 360 });
    await page.locator("[data-thread]").first().waitFor();
    await buttonOf("Menu")(page).press("Enter");
    await page.locator(".menu-open").waitFor();
    expect(page.url()).toBe(consoleOf(world, listOf()).href);
    await page.context().close();
  });

  test("Enter opens the thread that one has moved to, however fast, and the first where one has not moved", async () => {
    const { page } = await signedIn(browser, world, listOf());
    const title = (subject: string) => page.locator(".conversation-title h2", { hasText: subject }).waitFor();
    await page.locator("[data-thread]").first().waitFor();
    await page.locator("body").press("Enter");
    await title("Third");
    await goTo(page, world, listOf());
    await page.locator(".conversation").waitFor({ state: "detached" });
    await page.locator("[data-thread]").nth(2).waitFor();
    await page.evaluate(pressAtOnce, ["j", "j", "Enter"]);
    await title("Second");
    await page.context().close();
  });
});

/** Each key where the focus is by then, as fast as one task follows another; Enter presses a link as the browser does it. */
async function pressAtOnce(keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const target = document.activeElement ?? document.body;
    const isLeft = target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    if (isLeft && key === "Enter" && target instanceof HTMLElement) target.click();
    await new Promise((resolve) => setTimeout(resolve));
  }
}
