import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { startWorld, type World } from "../support/world.ts";
import { arrive, signedIn } from "./support.ts";

describe.skipIf(chromiumPath === undefined)("A mark of the console", () => {
  let browser: Browser;
  let world: World;
  beforeAll(async () => {
    [browser, world] = await Promise.all([startBrowser(), startWorld()]);
  }, 60_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("holds until the service says otherwise: a thread with newer mail shows itself unread again", async () => {
    const ada = await world.inbox("ada");
    const threadId = await arrive(world, ada, { subject: "Again", head: ["Message-ID: <1@again>"] });
    const { page } = await signedIn(browser, world, `threads/${threadId}`);
    await page.locator(".connection.is-stream").waitFor();
    const row = page.locator(".thread");
    await row.waitFor();
    await page.locator(".conversation").hover();
    // It is shown before the service has said it.
    const markByKey = async () => {
      const answer = page.waitForResponse(`**/v1/threads/${threadId}`);
      await page.keyboard.press("m");
      await page.getByRole("button", { name: "Mark unread" }).waitFor();
      await (await answer).finished();
    };
    await markByKey();
    await page.locator(".thread:not(.is-unread)").waitFor();

    await arrive(world, ada, { subject: "Re: Again", head: ["In-Reply-To: <1@again>"] });
    await page.locator(".messages li").nth(1).waitFor();
    await row.locator(".thread-count", { hasText: "2" }).waitFor();
    expect(await row.getByText("Unread").count()).toBe(1);
    await page.getByRole("button", { name: "Mark read" }).waitFor();

    // What another page or a program marks is seen with the next answer, too.
    await markByKey();
    await world.api(`/v1/threads/${threadId}`, { method: "PATCH", body: { is_read: false } });
    await arrive(world, ada, { subject: "Another thread" });
    await page.locator("[data-thread]", { hasText: "Another thread" }).waitFor();
    expect(await page.locator(".thread.is-unread").count()).toBe(2);
  });

  test("of what is selected leaves mail unread that came after it was selected", async () => {
    const ada = await world.inbox("selected");
    const seen = await arrive(world, ada, { subject: "Seen" });
    const answered = await arrive(world, ada, { subject: "Answered", head: ["Message-ID: <1@answered>"] });
    const { page } = await signedIn(browser, world, `inboxes/${ada.id}`);
    await page.getByLabel("Select Seen").check();
    await page.getByLabel("Select Answered").check();
    await arrive(world, ada, { subject: "Re: Answered", head: ["In-Reply-To: <1@answered>"] });
    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByText("It stays unread: newer mail has come in").waitFor();
    await page.locator(".selection").waitFor({ state: "detached" });
    const { body } = await world.api(`/v1/inboxes/${ada.id}/threads`);
    const isRead = Object.fromEntries(body.data.map((thread: Listed) => [thread.id, thread.isRead]));
    expect(isRead).toEqual({ [seen]: true, [answered]: false });
  });
});

interface Listed {
  id: string;
  isRead: boolean;
}
