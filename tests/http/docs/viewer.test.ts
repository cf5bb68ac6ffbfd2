import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { type Browser, chromiumPath, startBrowser } from "../../support/browser.ts";
import { enginesHere } from "../../support/engines.ts";
import type { World } from "../../support/world.ts";
import { worldsOn } from "../../support/world-on.ts";

const [engine = "embedded"] = enginesHere();
const startWorld = worldsOn(engine);

describe.skipIf(chromiumPath === undefined)("In a browser the page", () => {
  let browser: Browser;
  /** For tests that leave it as it is. */
  let shared: World;
  beforeAll(async () => {
    [browser, shared] = await Promise.all([startBrowser(), startWorld()]);
  });
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await shared?.[Symbol.asyncDispose]();
  });

  const docs = (world: World, fragment = "") => new URL(`/docs${fragment}`, world.service.apiUrl);

  test("makes an inbox, sends, lists and replies at the first click of each, and asks nobody else for anything", async () => {
    await using world = await startWorld();
    const { page, faults, requested } = await browser.open(docs(world));
    await giveKey(page, world.apiKey);

    const inbox = await tried(page, "createInbox", 201);
    expect(inbox.address).toEndWith("@inbox.localhost");
    expect(await tried(page, "sendEmail", 200)).toMatchObject({ status: "sent" });
    const list = await tried(page, "listMessages", 200);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator("#listMessages output .copy").click();
    await page.locator("#listMessages output .copy", { hasText: "Copied" }).waitFor();
    expect(JSON.parse(await page.evaluate(() => navigator.clipboard.readText()))).toEqual(list);
    expect(list.data.map(({ direction }: { direction: string }) => direction).toSorted()).toEqual([
      "inbound",
      "outbound",
    ]);

    await view(page, "sendEmail");
    await page.selectOption("#sendEmail select", { label: "Reply" });
    const reply = await tried(page, "sendEmail", 200);
    expect(list.data.map(({ threadId }: { threadId: string }) => threadId)).toContain(reply.threadId);
    expect(await tried(page, "listInboxes", 200)).toMatchObject({ total: 1, data: [{ id: inbox.id }] });

    expect(faults).toEqual([]);
    expect(requested.map(({ origin }) => origin).filter((origin) => origin !== world.service.apiUrl.origin)).toEqual(
      [],
    );
  });

  test("adds a suppression, uploads a file and makes webhooks at the first click, as filled in", async () => {
    await using world = await startWorld();
    const { page, faults } = await browser.open(docs(world));
    await giveKey(page, world.apiKey);
    expect(await tried(page, "addSuppressions", 201)).toMatchObject({ reason: "manual", inboxId: null });
    expect(await tried(page, "addSuppressions", 201)).toMatchObject({ reason: "manual" });
    expect((await world.api("/v1/suppressions")).body.data).toHaveLength(2);
    const upload = await tried(page, "uploadFile", 201);
    expect(upload).toMatchObject({ filename: "hello.txt", contentType: "text/plain", sizeBytes: 22 });
    expect(faults).toEqual([]);
  });

  test("shows how a stream begins, which has no end", async () => {
    await using world = await startWorld();
    const { page, faults } = await browser.open(docs(world));
    await giveKey(page, world.apiKey);
    await view(page, "streamEvents");
    await page.click("#streamEvents button[type=submit]");
    const shown = await page.waitForSelector("#streamEvents output pre code");
    expect(await shown.textContent()).toMatch(
      /^retry: 1000\n\nevent: ready\n[\s\S]*\n… The stream continues, but this page reads only 2 s of it\.$/,
    );
    expect(faults).toEqual([]);
  });

  test("says what is missing where the account has nothing yet, and where no key was given", async () => {
    await using world = await startWorld();
    const { page, faults } = await browser.open(docs(world));
    await view(page, "sendEmail");
    await page.click("#sendEmail button[type=submit]");
    await page.getByText("An API key is needed").waitFor();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("api-key");

    await giveKey(page, world.apiKey);
    await page.click("#sendEmail button[type=submit]");
    await page.click("#sendEmail .send-status a");
    await page.locator("#createInbox").waitFor();
    expect(faults).toEqual([]);
    expect((await world.api("/v1/inboxes")).body.total).toBe(0);
  });

  test("deletes at the second click alone", async () => {
    await using world = await startWorld();
    const inbox = await world.inbox("ada");
    const { page } = await browser.open(docs(world));
    await giveKey(page, world.apiKey);
    await view(page, "deleteInbox");
    await page.click("#deleteInbox button[type=submit]");
    await page.getByText("This cannot be undone.").waitFor();
    expect((await world.api(`/v1/inboxes/${inbox.id}`)).status).toBe(200);
    await page.click("#deleteInbox button[type=submit]");
    await page.locator("#deleteInbox output .status", { hasText: "204" }).waitFor();
    expect((await world.api(`/v1/inboxes/${inbox.id}`)).status).toBe(404);
  });

  test("shows code that follows what is typed, and sends no body that is not JSON", async () => {
    const { page } = await browser.open(docs(shared, "#createInbox"));
    await giveKey(page, shared.apiKey);
    const code = () => page.locator("#createInbox .sample code").textContent();
    await page.fill("#createInbox-body", '{"username": "grace"}');
    expect(await code()).toContain(`-d '{"username": "grace"}'`);
    await page.click("#createInbox [data-language=python]");
    expect(await code()).toContain('"username": "grace"');
    await page.fill("#createInbox-body", "{");
    await page.click("#createInbox button[type=submit]");
    await page.locator("#createInbox .send-status", { hasText: "The body is not JSON" }).waitFor();
    expect((await shared.api("/v1/inboxes")).body.total).toBe(0);
  });

  test("puts the key into each sample, keeps it for the tab alone, and sends it nowhere else", async () => {
    const { page, requested } = await browser.open(docs(shared, "#quickstart"));
    const samples = () => page.locator("#quickstart pre, #createInbox .sample pre").allTextContents();
    const before = await samples();
    expect(before.join("\n")).toContain('"Authorization: Bearer $INBOXD_API_KEY"');
    await giveKey(page, shared.apiKey);
    const after = await samples();
    expect(after).toEqual(before.map((text) => text.replaceAll(/\$INBOXD_API_KEY|ibx_…/g, shared.apiKey)));
    expect(after.filter((text) => text.includes(shared.apiKey)).length).toBeGreaterThan(4);
    const stored = await page.evaluate(() => [
      Object.values(localStorage),
      document.cookie,
      Object.values(sessionStorage),
    ]);
    expect(stored.map((where) => String(where).includes(shared.apiKey))).toEqual([false, false, true]);
    expect(
      requested.filter((url) => url.origin !== shared.service.apiUrl.origin || url.href.includes(shared.apiKey)),
    ).toEqual([]);
    await page.fill("#api-key", "");
    await page.press("#api-key", "Enter");
    expect(await samples()).toEqual(before);
  });

  test("copies each block as it stands", async () => {
    const { page } = await browser.open(docs(shared, "#quickstart"));
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const counts = await page.evaluate(() =>
      ["main pre > code", "main :is(.block, .sample) .copy"].map((each) => document.querySelectorAll(each).length),
    );
    expect(counts[0]).toBeGreaterThan(200);
    expect(counts[1]).toBe(counts[0] ?? 0);
    for (const number of [0, 3]) {
      const block = page.locator("#quickstart .block").nth(number);
      await block.locator(".copy").click();
      await block.locator(".copy", { hasText: "Copied" }).waitFor();
      expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
        (await block.locator("code").textContent()) ?? "",
      );
    }
  });

  test.each([390, 1440])("has lines of at most 90 characters on a screen of %d pixels", async (width) => {
    const { page } = await browser.open(docs(shared, "#webhooks"), { width });
    const longest = await page.evaluate(() => {
      const lines = Array.from(document.querySelectorAll("#webhooks > :is(p, ul, ol)"), (text) => {
        const rows = text.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(text).lineHeight);
        return rows < 3 ? 0 : text.textContent.length / rows;
      });
      return Math.max(...lines);
    });
    expect(longest).toBeGreaterThan(20);
    expect(longest).toBeLessThan(90);
  });

  test("finds guides, operations and fields by the keyboard", async () => {
    const { page, faults } = await browser.open(docs(shared));
    const wanted = [
      ["read flag loop", "#threads/the-loop-of-an-agent"],
      ["send email", "#sendEmail"],
      ["upToMessageId read", "#sendEmail"],
    ] as const;
    for (const [words, address] of wanted) {
      await page.keyboard.press("/");
      await page.keyboard.type(words);
      await page.locator("#finder-results [role=option] a").first().waitFor();
      await page.keyboard.press("Enter");
      await page.waitForFunction((hash) => decodeURIComponent(location.hash) === hash, address);
      expect(await page.locator("#finder").isVisible()).toBe(false);
    }
    expect(faults).toEqual([]);
  });

  test("of one guide is read alone, leads to the others, and searches everything", async () => {
    const { page, faults } = await browser.open(docs(shared, "/quickstart"));
    expect(await page.title()).toBe("Quickstart · inboxd");
    expect(await page.locator("main .view").count()).toBe(1);
    await page.locator("#contents a", { hasText: "Answer it" }).click();
    expect(new URL(page.url()).pathname + new URL(page.url()).hash).toBe("/docs/quickstart#answer-it");
    await page.keyboard.press("/");
    await page.keyboard.type("send emial");
    await page.locator("#finder-results [role=option] a").first().waitFor();
    await page.keyboard.press("Enter");
    await page.locator("#sendEmail").waitFor();
    expect(new URL(page.url()).pathname).toBe("/docs");
    await page.goto(String(docs(shared, "/quickstart")));
    await page.click("a[rel=next]");
    await page.waitForURL(/\/docs\/\w+$/);
    await giveKey(page, shared.apiKey);
    expect(faults).toEqual([]);
  });

  test.each([360, 900, 1400])("fits a screen of %d pixels, and its contents lead to each part", async (width) => {
    const { page, faults } = await browser.open(docs(shared), { width });
    for (const id of [
      "start",
      "quickstart",
      "errors",
      "migrating",
      "vps",
      "performance",
      "sendEmail",
      "listEvents",
      "schemas",
    ]) {
      await view(page, id);
      const [content, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      expect([id, content]).toEqual([id, Math.min(content ?? 0, screen ?? 0)]);
    }
    if (width < 960) await page.click("#menu");
    await page.locator("#contents a", { hasText: "Send email" }).click();
    await page.locator("#sendEmail").waitFor();
    expect(await page.locator("#quickstart").isVisible()).toBe(false);
    expect(faults).toEqual([]);
  });

  test("is dark where the system is, or where one wants it so", async () => {
    const { page } = await browser.open(docs(shared), { colorScheme: "dark" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.click("#theme");
    expect(await background()).toBe("rgb(255, 255, 255)");
    await page.click("#theme");
    await page.reload();
    expect([dark, await background()]).toEqual([dark, dark]);
    expect(dark).not.toBe("rgb(255, 255, 255)");
  });
});

async function view(page: Page, id: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
  }, id);
  await page.locator(`[id="${id}"]`).waitFor();
}

async function giveKey(page: Page, key: string): Promise<void> {
  await page.fill("#api-key", key);
  await page.press("#api-key", "Enter");
  await page.locator("#key-status", { hasText: "Accepted" }).waitFor();
}

/** The answer that the page shows after one click. */
async function tried(page: Page, id: string, status: number) {
  await view(page, id);
  await page.evaluate((within) => document.querySelector(`#${within} output`)?.replaceChildren(), id);
  await page.click(`#${id} button[type=submit]`);
  await page.locator(`#${id} output .status`, { hasText: String(status) }).waitFor();
  return JSON.parse((await page.locator(`#${id} output pre`).first().textContent()) ?? "");
}
