import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { untilSo } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, send, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("A conversation", () => {
  const setup = setUpConsole({ env: { SENDS_PER_MINUTE: "0" } });
  let ada: WorldInbox;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
  });

  /** A thread of ten messages: seven received ones, an answer, and two unread ones, each with a quote. */
  async function longThread(name: string): Promise<string> {
    const next = (number: number) =>
      arrive(setup.world, ada, {
        subject: number === 1 ? name : `Re: ${name}`,
        text: `${"Long text.\n".repeat(30)}Number ${number}\n\nOn Friday, Joe wrote:\n> Number ${number - 1} again`,
        head: [`Message-ID: <${number}@${name}>`, ...(number === 1 ? [] : [`In-Reply-To: <${number - 1}@${name}>`])],
      });
    const thread = await next(1);
    for (let number = 2; number <= 7; number += 1) await next(number);
    await send(setup.world, ada, { to: "jane@example.com", threadId: thread, body: "My answer" });
    await next(8);
    await next(9);
    return thread;
  }

  /** The distance of the first open message from the bottom of the head, in pixels. */
  const distanceOf = (page: Page) =>
    page.evaluate(() => {
      const top = document.querySelector(".message.is-open")?.getBoundingClientRect().top ?? 0;
      return top - (document.querySelector(".conversation-head")?.getBoundingClientRect().bottom ?? 0);
    });

  test("opens at its first unread message, or else at its last one, with the middle folded", async () => {
    const thread = await longThread("long");
    const { page } = await signedIn(setup, `threads/${thread}`);
    const open = page.locator(".message.is-open");
    await page.frameLocator(".message.is-open iframe >> nth=1").getByText("Number 9").waitFor();
    expect(await open.count()).toBe(2);
    await page.frameLocator(".message.is-open iframe >> nth=0").getByText("Number 8").waitFor();
    await page.waitForFunction(() => (document.querySelector(".conversation-pane")?.scrollTop ?? 0) > 0);
    expect(Math.abs(await distanceOf(page))).toBeLessThan(60);
    expect(await page.locator(".message").count()).toBe(4);

    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByRole("button", { name: "Mark unread" }).waitFor();
    await untilSo(async () => (await setup.world.api(`/v1/threads/${thread}`)).body.isRead === true);
    expect(await open.count()).toBe(2);
    await page.getByRole("button", { name: "Show 6 messages in between" }).click();
    expect(await page.locator(".message").count()).toBe(10);
    await page.reload();
    await page.frameLocator(".message.is-open iframe").getByText("Number 9").waitFor();
    expect(await open.count()).toBe(1);
    await page.context().close();
  });

  test("deletes a message and the thread, each after a question", async () => {
    const thread = await longThread("doomed");
    const { page, faults } = await signedIn(setup, `threads/${thread}`);
    const answer = (verb: string) => page.getByRole("dialog").getByRole("button", { name: verb }).click();
    const last = page.locator(".message.is-open").last();
    await last.getByRole("button", { name: "Delete" }).click();
    await answer("Keep");
    await last.getByRole("button", { name: "Delete" }).click();
    await answer("Delete");
    await page.getByText("The message is deleted").waitFor();
    await page.getByText("9 messages", { exact: false }).waitFor();
    await page.getByRole("button", { name: "Delete thread" }).click();
    await answer("Delete");
    await page.getByText("The thread is deleted").waitFor();
    await page.waitForURL(`**/console/inboxes/${ada.id}`);
    expect((await setup.world.api(`/v1/threads/${thread}/messages`)).status).toBe(404);
    expect(faults.filter((fault) => !/401/.test(fault))).toEqual([]);
    await page.context().close();
  }, 60_000);

  test("shows the text of a file, and the reason why another has none", async () => {
    const file = (name: string) => [`Content-Disposition: attachment; filename=${name}`];
    const thread = await arrive(setup.world, ada, { subject: "A file", text: "Two chairs", head: file("order.txt") });
    const { page } = await signedIn(setup, `threads/${thread}`);
    await page.getByRole("button", { name: "Text of order.txt" }).click();
    await page.getByRole("region", { name: "Text of order.txt" }).getByText("Two chairs").waitFor();
    await page.getByRole("button", { name: "Text of order.txt" }).click();
    await page.getByRole("region", { name: "Text of order.txt" }).waitFor({ state: "detached" });

    const broken = await arrive(setup.world, ada, { subject: "A broken file", head: file("order.pdf") });
    await page.goto(page.url().replace(thread, broken));
    await page.getByRole("button", { name: "Text of order.pdf" }).click();
    await page.getByText("it is damaged").waitFor();
    await page.context().close();
  });

  test("folds quotes, in HTML and in text", async () => {
    const html = "<p>The new part</p><blockquote type=cite><p>The old part</p></blockquote>";
    const head = ["In-Reply-To: <none@example.com>"];
    const thread = await arrive(setup.world, ada, { subject: "Re: Quotes", html, head });
    const { page } = await signedIn(setup, `threads/${thread}`);
    const mail = page.frameLocator(".paper iframe");
    await mail.getByText("The new part").waitFor();
    expect(await mail.getByText("The old part").count()).toBe(0);
    await page.getByRole("button", { name: "Show quotes" }).click();
    await mail.getByText("The old part").waitFor();
    await page.getByRole("button", { name: "Text", exact: true }).click();
    const text = page.locator(".message-text");
    expect(await text.textContent()).toContain("The old part");
    await page.getByRole("button", { name: "Hide quotes" }).click();
    expect(await text.textContent()).not.toContain("The old part");
    expect(await text.textContent()).toContain("The new part");
    await page.context().close();
  });

  test("shows what an agent sees: signs of a program, the verdict about the sender, codes, links and the new text", async () => {
    const html = `<p>Your code is <b>482 913</b>.</p><a href="https://example.com/verify?token=4f1c">Verify your address</a>
      <a href="https://evil.example/x">https://example.com/help</a>`;
    const thread = await arrive(setup.world, ada, {
      subject: "Sign in",
      html,
      head: ["Auto-Submitted: auto-generated"],
    });
    const { page } = await signedIn(setup, `threads/${thread}`);
    await page.getByRole("button", { name: "Agent’s view" }).click();
    const facts = page.locator(".agent dd");
    expect(await facts.nth(0).textContent()).toBe("notification: auto-submitted");
    expect(await facts.nth(1).textContent()).toBe("not checked");
    expect(await facts.nth(2).textContent()).toContain("482913");
    expect(await facts.nth(3).textContent()).toMatch(
      /verify Verify your address.*https:\/\/example.com\/verify\?token=4f1c/,
    );
    expect(await facts.nth(3).locator("div", { hasText: "https://evil.example/x" }).textContent()).toContain(
      "misleading",
    );
    expect(await facts.nth(4).textContent()).toContain("Your code is 482 913.");
    await page.context().close();
  });

  test("is dark in the dark if its mail is a text, and white if it is HTML", async () => {
    for (const [subject, html, filter] of [
      ["Dark text", undefined, "invert(0.9) hue-rotate(180deg)"],
      ["White HTML", "<p>Hello</p>", "none"],
    ] as const) {
      const thread = await arrive(setup.world, ada, { subject, ...(html !== undefined && { html }) });
      const { page } = await signedIn(setup, `threads/${thread}`, { colorScheme: "dark" });
      await page.frameLocator(".paper iframe").getByText("Hello").waitFor();
      const shown = () => page.locator(".paper").evaluate((paper) => getComputedStyle(paper).filter);
      expect([subject, await shown()]).toEqual([subject, filter]);
      await page.getByRole("button", { name: "Theme: System" }).click();
      expect([subject, await shown()]).toEqual([subject, "none"]);
      await page.context().close();
    }
  });

  test("is printed alone, from its first message to its last", async () => {
    const thread = await longThread("printed");
    const { page } = await signedIn(setup, `threads/${thread}`);
    await page.frameLocator(".message.is-open iframe >> nth=1").getByText("Number 9").waitFor();
    await page.emulateMedia({ media: "print" });
    for (const hidden of ["#navigation", ".threads", ".quick-reply", ".message-tools"]) {
      expect([hidden, await page.locator(hidden).first().isVisible()]).toEqual([hidden, false]);
    }
    expect(await page.locator(".conversation-title").isVisible()).toBe(true);
    const heights = await page.evaluate(() => [
      document.documentElement.scrollHeight,
      document.querySelector(".messages")?.getBoundingClientRect().height ?? 0,
    ]);
    expect(heights[0]).toBeGreaterThanOrEqual(heights[1] ?? 0);
    await page.context().close();
  });
});
