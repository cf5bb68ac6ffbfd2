import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { untilSo } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

const scripts = /\/console\/assets\/[^/]+\.js$/;

/** The names of the scripts in the order of their requests. */
const scriptsOf = (requested: readonly URL[]) =>
  requested.filter(({ pathname }) => scripts.test(pathname)).map(({ pathname }) => pathname.split("/").at(-1) ?? "");

/** Holds the answers to requests for scripts until it is called. */
async function holdScripts(page: Page): Promise<() => void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(scripts, async (route) => {
    await promise;
    await route.continue();
  });
  return resolve;
}

describeInBrowser("The console's code", () => {
  const setup = setUpConsole();
  let ada: WorldInbox;
  let threadId: string;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    threadId = await arrive(setup.world, ada, { subject: "Where is it?" });
  }, 60_000);

  test("is at most 60 kB until the first screen is complete", async () => {
    const { page, requested } = await signedIn(setup);
    await page.locator(".last-mail a").first().waitFor();
    const sizesBytes = Array.from(new Set(scriptsOf(requested)), async (name) => {
      const text = await (await fetch(consoleOf(setup.world, `assets/${name}`))).text();
      return Bun.gzipSync(text, { level: 9 }).length;
    });
    expect((await Promise.all(sizesBytes)).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(60_000);
  });

  test("of a screen is requested at once, also what it imports", async () => {
    const { page, requested } = await signedIn(setup, "no/such/place");
    const before = requested.length;
    const release = await holdScripts(page);
    await goTo(page, `threads/${threadId}`);
    await page.locator("main .placeholder").waitFor();
    await untilSo(() => scriptsOf(requested.slice(before)).some((name) => name.startsWith("mail-")));
    const named = await page.locator("link[rel=modulepreload]").evaluateAll((links) => links.length);
    release();
    await page.locator(".conversation").waitFor();
    const names = new Set(scriptsOf(requested.slice(before)));
    expect(names.size).toBe(named + 1);
    expect(names.size).toBeGreaterThan(1);
  });

  test("of a screen is loaded by pointing at a link to it", async () => {
    const { page, requested } = await signedIn(setup, "no/such/place");
    expect(scriptsOf(requested).filter((name) => name.startsWith("rule-list-"))).toEqual([]);
    await page.getByRole("link", { name: "Rules" }).hover();
    await untilSo(() => scriptsOf(requested).some((name) => name.startsWith("rule-list-")));
  });

  test("moves nothing when it comes: the title of the screen is there before", async () => {
    const { page } = await signedIn(setup, "no/such/place");
    const release = await holdScripts(page);
    await goTo(page, "rules");
    await page.locator("main .placeholder").waitFor();
    const title = page.getByRole("heading", { level: 1, name: "Rules" });
    const place = async () => {
      const { x, y, height } = (await title.boundingBox()) ?? {};
      return { x, y, height };
    };
    const before = await place();
    release();
    await page.locator(".policy").waitFor();
    expect(await place()).toEqual(before);
  });

  test("is that of the new version if the service was replaced while the page was open", async () => {
    const { page } = await signedIn(setup, "no/such/place");
    const current = await page.locator("script").evaluate((script) => (script as HTMLScriptElement).src);
    const name = current.split("/").at(-1) ?? "";
    // An older version, whose scripts had other names.
    await page.route(/\/console\/(?:outbox|assets\/[^/]+\.js)$/, async (route) => {
      const response = await route.fetch({ url: route.request().url().replace("console-older.js", name) });
      const body = (await response.text())
        .replaceAll(name, "console-older.js")
        .replaceAll(/rule-list-\w+/g, "rule-list-older");
      await route.fulfill({ response, body });
    });
    await page.goto(consoleOf(setup.world, "outbox").href);
    await page.locator("main .empty").waitFor();
    await page.unrouteAll();
    expect(await page.locator("script").getAttribute("src")).toEndWith("console-older.js");
    await page.getByRole("link", { name: "Rules" }).click();
    await page.locator(".policy").waitFor();
    expect(page.url()).toBe(consoleOf(setup.world, "rules").href);
    expect(await page.locator("script").getAttribute("src")).toEndWith(name);
  });

  test("can be asked for again if the service did not answer", async () => {
    const { page } = await signedIn(setup, "no/such/place");
    await page.route(scripts, (route) => route.abort());
    await page.route(consoleOf(setup.world, "rules").href, (route) => route.abort());
    await goTo(page, "rules");
    await page.locator("main").getByRole("alert").filter({ hasText: "The service does not answer" }).waitFor();
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".policy").waitFor();
  });
});
