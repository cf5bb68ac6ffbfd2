import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("In the list of an inbox,", () => {
  const setup = setUpConsole();
  let ada: WorldInbox;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    for (const subject of ["First", "Second", "Third"]) await arrive(setup.world, ada, { subject });
  }, 60_000);

  const listOf = () => `inboxes/${ada.id}`;
  const linkTo = (name: string) => (page: Page) => page.getByRole("link", { name, exact: true });
  const buttonOf = (name: string) => (page: Page) => page.getByRole("button", { name, exact: true });

  test.each([
    ["a link of the navigation", linkTo("Outbox"), "/console/outbox"],
    ["a tab", linkTo("Unread"), "?view=unread"],
    ["the button to write", linkTo("Write from ada@inbox.localhost"), "/console/compose?"],
  ])("Enter on %s opens it", async (_, control, address) => {
    const { page } = await signedIn(setup, listOf());
    await page.locator("[data-thread]").first().waitFor();
    await control(page).press("Enter");
    await page.waitForURL((url) => url.href.includes(address));
    await page.context().close();
  });

  test("Enter on a button of the selection presses it", async () => {
    const { page } = await signedIn(setup, listOf());
    await page.locator("[data-thread]").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("x");
    await buttonOf("Mark read")(page).press("Enter");
    await page.locator(".thread:not(.is-unread)").waitFor();
    await buttonOf("Mark read")(page).waitFor({ state: "detached" });
    expect(page.url()).toBe(consoleOf(setup.world, listOf()).href);
    await page.context().close();
  });

  test("Enter on the menu button of a narrow screen opens the menu", async () => {
    const { page } = await signedIn(setup, listOf(), { width: 360 });
    await page.locator("[data-thread]").first().waitFor();
    await buttonOf("Menu")(page).press("Enter");
    await page.locator(".menu-open").waitFor();
    expect(page.url()).toBe(consoleOf(setup.world, listOf()).href);
    await page.context().close();
  });

  test("Enter opens the current thread, also right after other keys, and the first thread if there is no current one", async () => {
    const { page } = await signedIn(setup, listOf());
    const title = (subject: string) => page.locator(".conversation-title h2", { hasText: subject }).waitFor();
    await page.locator("[data-thread]").first().waitFor();
    await page.locator("body").press("Enter");
    await title("Third");
    await goTo(page, listOf());
    await page.locator(".conversation").waitFor({ state: "detached" });
    await page.locator("[data-thread]").nth(2).waitFor();
    await page.evaluate(pressAtOnce, ["j", "j", "Enter"]);
    await title("Second");
    await page.context().close();
  });

  test("c writes from its inbox, also while a thread or a message of it is open", async () => {
    // Not the newest inbox, which the form offers without a choice.
    await setup.world.inbox("other");
    const { body } = await setup.world.api(`/v1/inboxes/${ada.id}/messages?limit=1`);
    const [{ id, threadId }] = body.data;
    const { page } = await signedIn(setup, listOf());
    for (const [path, sign] of [
      [listOf(), "[data-thread]"],
      [`threads/${threadId}`, "[data-thread]"],
      [`messages/${id}`, ".step"],
    ] as const) {
      await goTo(page, path);
      await page.locator(sign).first().waitFor();
      await page.keyboard.press("c");
      await page.locator("#from").waitFor();
      expect([path, await page.inputValue("#from")]).toEqual([path, ada.id]);
    }
    await page.context().close();
  });
});

/** Presses each key at the focused element, one task after another. Enter clicks a link, as in a browser. */
async function pressAtOnce(keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const target = document.activeElement ?? document.body;
    const isLeft = target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    if (isLeft && key === "Enter" && target instanceof HTMLElement) target.click();
    await new Promise((resolve) => setTimeout(resolve));
  }
}
