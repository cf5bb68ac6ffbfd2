import { expect, test } from "bun:test";
import { untilAnswered } from "../support/until.ts";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("A thread marked in the console", () => {
  const setup = setUpConsole();

  test("is shown as unread again when newer mail arrives", async () => {
    const ada = await setup.world.inbox("ada");
    const threadId = await arrive(setup.world, ada, { subject: "Again", head: ["Message-ID: <1@again>"] });
    const { page } = await signedIn(setup, `threads/${threadId}`);
    await page.locator(".connection.is-stream").waitFor();
    const row = page.locator(".thread");
    await row.waitFor();
    await page.locator(".conversation").hover();
    // The mark is shown before the service has answered.
    const markByKey = async () => {
      const answer = page.waitForResponse(`**/v1/threads/${threadId}`);
      await page.keyboard.press("m");
      await page.getByRole("button", { name: "Mark unread" }).waitFor();
      await (await answer).finished();
    };
    await markByKey();
    await page.locator(".thread:not(.is-unread)").waitFor();

    await arrive(setup.world, ada, { subject: "Re: Again", head: ["In-Reply-To: <1@again>"] });
    await page.locator(".messages li").nth(1).waitFor();
    await row.locator(".thread-count", { hasText: "2" }).waitFor();
    expect(await row.getByText("Unread").count()).toBe(1);
    await page.getByRole("button", { name: "Mark read" }).waitFor();

    // A mark by another page or a program is shown after the next load.
    await markByKey();
    await setup.world.api(`/v1/threads/${threadId}`, { method: "PATCH", body: { is_read: false } });
    await arrive(setup.world, ada, { subject: "Another thread" });
    await page.locator("[data-thread]", { hasText: "Another thread" }).waitFor();
    expect(await page.locator(".thread.is-unread").count()).toBe(2);
  });

  test("stays unread if mail arrived after it was selected", async () => {
    const ada = await setup.world.inbox("selected");
    const seen = await arrive(setup.world, ada, { subject: "Seen" });
    const answered = await arrive(setup.world, ada, { subject: "Answered", head: ["Message-ID: <1@answered>"] });
    const { page } = await signedIn(setup, `inboxes/${ada.id}`);
    await page.getByLabel("Select Seen").check();
    await page.getByLabel("Select Answered").check();
    await arrive(setup.world, ada, { subject: "Re: Answered", head: ["In-Reply-To: <1@answered>"] });
    // A slow answer: it comes after the time in which a further mark shares the notice.
    await page.route(`**/v1/threads/${answered}`, async (route) => {
      await Bun.sleep(500);
      await route.continue();
    });
    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByText("1 thread marked read. 1 thread stays unread because newer mail has arrived").waitFor();
    await page.locator(".selection").waitFor({ state: "detached" });
    const { body } = await setup.world.api(`/v1/inboxes/${ada.id}/threads`);
    const isRead = Object.fromEntries(body.data.map((thread: Listed) => [thread.id, thread.isRead]));
    expect(isRead).toEqual({ [seen]: true, [answered]: false });
  });

  test("is unmarked by Undo, but not a thread that had the flag before", async () => {
    const ada = await setup.world.inbox("undo");
    const ids = [];
    for (const subject of ["One", "Two", "Three"]) ids.push(await arrive(setup.world, ada, { subject }));
    await setup.world.api(`/v1/threads/${ids[1]}`, { method: "PATCH", body: { is_read: true } });
    const { page } = await signedIn(setup, `inboxes/${ada.id}`);
    for (const subject of ["One", "Two", "Three"]) await page.getByLabel(`Select ${subject}`).check();
    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByText("2 threads marked read").waitFor();
    await page.locator(".selection").waitFor({ state: "detached" });
    expect(await page.locator(".thread.is-unread").count()).toBe(0);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.locator(".thread.is-unread").nth(1).waitFor();
    const isUnread = async () => {
      const { body } = await setup.world.api(`/v1/inboxes/${ada.id}/threads?is_read=false`);
      return body.data.map(({ subject }: { subject: string }) => subject).toSorted();
    };
    await untilAnswered(async () => ((await isUnread()).length === 2 ? true : undefined));
    expect(await isUnread()).toEqual(["One", "Three"]);
    await page.context().close();
  });
});

interface Listed {
  id: string;
  isRead: boolean;
}
