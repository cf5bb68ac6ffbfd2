import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The console, for a key", () => {
  const setup = setUpConsole();
  let ada: WorldInbox;
  let threadId: string;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    threadId = await arrive(setup.world, ada, { subject: "Where is it?" });
  }, 60_000);

  const offered = (page: Page) => page.locator("#navigation li").allTextContents();
  const message = "Cannot delete inbox: this key may not";
  const problem = { code: "forbidden", status: 403, detail: message, message };
  const refusal = { status: 403, contentType: "application/problem+json", body: JSON.stringify(problem) };

  /** Signs in with a key that has this access. Requests that it is not allowed to make are refused. */
  async function withAccess(access: string, isAllowed: (method: string, path: string) => boolean) {
    const refused: string[] = [];
    const watched = await signedIn(setup);
    const { body: account } = await setup.world.api("/v1/account");
    await watched.page.route("**/v1/**", (route) => {
      const [method, { pathname }] = [route.request().method(), new URL(route.request().url())];
      if (pathname === "/v1/account") return route.fulfill({ json: { ...account, key: { ...account.key, access } } });
      if (isAllowed(method, pathname)) return route.continue();
      refused.push(`${method} ${pathname}`);
      return route.fulfill(refusal);
    });
    await watched.page.reload({ waitUntil: "commit" });
    // Drops the requests of the page before the reload.
    refused.length = 0;
    await watched.page.locator("#navigation").waitFor({ state: "attached" });
    return { ...watched, refused };
  }

  test("that can only send, shows the inboxes, sends, and requests nothing else on any screen", async () => {
    const { page, refused } = await withAccess(
      "send",
      (method, path) =>
        (method === "GET" && /^\/v1\/inboxes(\/[^/]+)?$/.test(path)) ||
        (method === "POST" && /^\/v1\/inboxes\/[^/]+\/send$/.test(path)),
    );
    await page.getByRole("heading", { name: "Inboxes" }).waitFor();
    expect(await offered(page)).toEqual(["Inboxes"]);
    expect(await page.locator("button[aria-label^=Delete], #username").count()).toBe(0);
    await page.locator(".inbox-rows .row-link", { hasText: ada.address }).click();
    await page.fill("#to", "joe@example.com");
    await page.fill("#subject", "By a sender");
    await page.fill(".compose-body", "Hello");
    await page.locator(".compose button[type=submit]").click();
    await page.getByText("Sent", { exact: true }).waitFor();
    await page.getByRole("heading", { name: "Inboxes" }).waitFor();
    for (const address of ["events", "outbox", "webhooks", `inboxes/${ada.id}`, `threads/${threadId}`]) {
      await goTo(page, address);
      await page.getByText("It cannot read mail").waitFor();
      await goTo(page, "inboxes");
      await page.getByRole("heading", { name: "Inboxes" }).waitFor();
    }
    expect(refused).toEqual([]);
    const { body } = await setup.world.api(`/v1/inboxes/${ada.id}/messages?to=joe@example.com`);
    expect(body.data).toMatchObject([{ subject: "By a sender" }]);
  });

  test("that can only read, offers no action that changes anything", async () => {
    const { page, refused } = await withAccess("read", (method) => method === "GET");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect(await offered(page)).toEqual([
      "Overview",
      "Inboxes",
      "Drafts",
      "Approvals",
      "Outbox",
      "Events",
      "Suppressions",
      "Usage",
    ]);
    for (const address of ["webhooks", "domains", "keys", "audit"]) {
      await goTo(page, address);
      await page.getByText("The page needs a key with the access “full”").waitFor();
    }
    await goTo(page, "inboxes");
    await page.locator(".inbox-rows .row").waitFor();
    await goTo(page, `threads/${threadId}`);
    await page.locator(".conversation-title h2").waitFor();
    await page.keyboard.press("m");
    await page.keyboard.press("c");
    for (const name of ["Write", "Delete", "Mark", "Reply", "Forward"]) {
      expect([name, await page.getByRole("button", { name }).count()]).toEqual([name, 0]);
      expect([name, await page.getByRole("link", { name }).count()]).toEqual([name, 0]);
    }
    expect(await page.locator("#reply").count()).toBe(0);
    expect(page.url()).toEndWith(`/console/threads/${threadId}`);
    expect(refused).toEqual([]);
  });

  test("that loses access while the page is open, shows the service's refusal and goes on", async () => {
    const { page, refused } = await withAccess("full", (method) => method !== "DELETE");
    await goTo(page, "inboxes");
    await page.getByRole("button", { name: `Delete ${ada.address}` }).click();
    await page.getByRole("button", { name: "Delete inbox" }).click();
    await page.locator(".notice.is-bad", { hasText: "This key may not" }).waitFor();
    expect(refused).toEqual([`DELETE /v1/inboxes/${ada.id}`]);
    await page.locator(".inbox-rows", { hasText: ada.address }).waitFor();
  });
});
