import { beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import type { WorldInbox } from "../support/world.ts";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

describeInBrowser("Ctrl K", () => {
  const setup = setUpConsole({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });
  let ada: WorldInbox;
  const ids: Record<string, string> = {};
  beforeAll(async () => {
    const { world } = setup;
    ada = await world.inbox("ada");
    await world.inbox("grace");
    const letter = { subject: "Invoice for March", from: "jane@example.com", head: ["Message-ID: <march@x.example>"] };
    const thread = await arrive(world, ada, letter);
    const answer = { ...letter, subject: "Re: Invoice for March", head: ["In-Reply-To: <march@x.example>"] };
    expect(await arrive(world, ada, answer)).toBe(thread);
    await arrive(world, ada, { subject: "Something else", from: "joe@example.com" });
    const { body: mail } = await world.api(`/v1/threads/${thread}/messages`);
    const { body: log } = await world.api("/v1/events?types=message.received");
    const hook = { url: "http://127.0.0.1:65000/hook", eventTypes: ["inbox.deleted"] };
    const { body: endpoint } = await world.api("/v1/webhooks", { method: "POST", body: hook });
    Object.assign(ids, {
      inboxes: ada.id,
      threads: thread,
      messages: mail.data[0].id,
      events: log.data[0].event_id,
      webhooks: endpoint.id,
    });
  }, 60_000);

  const options = (page: Page) => page.getByRole("option");

  async function opened() {
    const watched = await signedIn(setup);
    await watched.page.getByRole("heading", { level: 1 }).waitFor();
    await open(watched.page);
    return watched;
  }

  /** Keys that are typed before the field has the focus go to the screen. */
  async function open(page: Page) {
    await page.keyboard.press("Control+k");
    await page.locator(".go-to [role=combobox]:focus").waitFor();
  }

  test.each(["inboxes", "threads", "messages", "events", "webhooks"])(
    "goes to one of the %s by its id",
    async (kind) => {
      const { page } = await opened();
      await page.keyboard.type(` ${ids[kind]} `);
      await options(page)
        .filter({ hasText: ids[kind] as string })
        .waitFor();
      expect(await options(page).count()).toBe(1);
      await page.keyboard.press("Enter");
      await page.waitForURL((url) => url.pathname === `/console/${kind}/${ids[kind]}`);
      expect(await page.locator("dialog[open]").count()).toBe(0);
      await page.context().close();
    },
  );

  test.each([
    ["an inbox by a part of its name", "grac", "grace@inbox.localhost", /\/console\/inboxes\/inb_/],
    ["a screen by its name", "supp", "Suppressions", /\/console\/suppressions$/],
    ["a thread by words of its mail", "march invoice", "Re: Invoice for March", /\/console\/threads\/thr_/],
    ["a thread by an address of its mail", "jane@example.com", "Re: Invoice for March", /\/console\/threads\/thr_/],
  ])("goes to %s", async (_, text, name, address) => {
    const { page } = await opened();
    await page.keyboard.type(text);
    await options(page).filter({ hasText: name }).waitFor();
    expect(await options(page).count()).toBe(1);
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => address.test(url.pathname));
    await page.context().close();
  });

  test("goes to an inbox by its address, also if it is not among the hundred newest", async () => {
    const { page } = await signedIn(setup);
    await page.route("**/v1/inboxes?limit=100*", (route) => route.fulfill({ json: { data: [], total: 101 } }));
    await open(page);
    await page.keyboard.type("Grace@inbox.localhost");
    await options(page).filter({ hasText: "grace@" }).waitFor();
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => /\/console\/inboxes\/inb_/.test(url.pathname));
    await page.context().close();
  });

  test("has its options at the arrow keys, and names the chosen one to a screen reader", async () => {
    const { page } = await opened();
    await options(page).filter({ hasText: "grace@" }).waitFor();
    const chosen = async () => {
      const id = await page.getByRole("combobox").getAttribute("aria-activedescendant");
      const selected = page.locator('[role="option"][aria-selected="true"]');
      expect([await selected.count(), await selected.getAttribute("id")]).toEqual([1, id]);
      return selected.locator(".go-to-name").textContent();
    };
    expect(await chosen()).toBe("Overview");
    await page.keyboard.press("ArrowDown");
    expect(await chosen()).toBe("Inboxes");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    expect(await chosen()).toBe("ada@inbox.localhost");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === `/console/inboxes/${ada.id}`);
    await page.context().close();
  });

  test("opens in a field too, says that nothing is found, and Escape gives the focus back", async () => {
    const { page } = await signedIn(setup, `compose?inbox=${ada.id}`);
    await page.locator("#subject").focus();
    await open(page);
    await page.keyboard.type("zzzz no such thing");
    await page.getByRole("status").filter({ hasText: "Nothing found" }).waitFor();
    expect(await page.getByRole("combobox", { name: "Name, address or id" }).getAttribute("aria-expanded")).toBe(
      "false",
    );
    await page.keyboard.press("Enter");
    await page.keyboard.press("Escape");
    await page.locator(".go-to").waitFor({ state: "detached" });
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("subject");
    await page.context().close();
  });

  test("has no accessibility violation, light and dark, and stands in the list of keys", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      const { page } = await opened();
      await page.emulateMedia({ colorScheme });
      await options(page).filter({ hasText: "grace@" }).waitFor();
      await page.evaluate(axe);
      expect(await violations(page)).toEqual([]);
      await page.keyboard.type("zzzz");
      await page.getByRole("status").filter({ hasText: "Nothing found" }).waitFor();
      expect(await violations(page)).toEqual([]);
      await page.keyboard.press("Escape");
      await page.locator(".go-to").waitFor({ state: "detached" });
      await page.keyboard.press("?");
      await page.locator(".help", { hasText: "Go to an inbox" }).waitFor();
      await page.context().close();
    }
  }, 60_000);
});

interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[];
}

function violations(page: Page): Promise<string[]> {
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(where: Document, how: object): Promise<AxeResult> } };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const result = await axe.run(document, { runOnly: tags, iframes: false, resultTypes: ["violations"] });
    return result.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}
