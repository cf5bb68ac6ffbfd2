import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { accessTokens } from "../../src/flows/account/access-tokens.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { signInLinkOfAccount } from "../../src/flows/account/sign-in.ts";
import { signingKeyOf } from "../../src/flows/account/signing-key.ts";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { startWorld, type World } from "../support/world.ts";
import { arrive, consoleOf, signedIn } from "./support.ts";

describe.skipIf(chromiumPath === undefined)("Signing in at the console", () => {
  let browser: Browser;
  let world: World;
  let stranger: { account: { id: string; name: string }; apiKey: string };
  beforeAll(async () => {
    [browser, world] = await Promise.all([startBrowser(), startWorld({ database: "embedded" })]);
    stranger = await createAccount(world.service.deps, { name: "stranger", plan: "free" });
  }, 60_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  async function strangersLink(): Promise<string> {
    const { deps } = world.service;
    const tokens = await accessTokens(await signingKeyOf(deps, undefined));
    const baseUrl = () => world.service.apiUrl.origin;
    return (await signInLinkOfAccount({ ...deps, tokens, baseUrl }, stranger.account)).url;
  }

  const nameIn = async (page: Page) => {
    const account = await page.evaluate(async () => (await fetch("/v1/account")).json());
    return (account as { name?: string }).name;
  };

  test("by a click in a mail on an address with a stranger's API key changes no session, and makes none", async () => {
    const inbox = await world.inbox("ada");
    const url = `${world.service.apiUrl.origin}/console/#t=${stranger.apiKey}`;
    const threadId = await arrive(world, inbox, { subject: "Click me", html: `<a href="${url}">Your invoice</a>` });
    const { page } = await signedIn(browser, world, `threads/${threadId}`);
    const opened = page.context().waitForEvent("page");
    await page.frameLocator(".paper iframe").getByRole("link", { name: "Your invoice" }).click();
    const there = await opened;
    await there.getByText("This link is not valid any more").waitFor();
    expect([await nameIn(there), await nameIn(page)]).toEqual(["default", "default"]);
    expect(new URL(there.url()).hash).toBe("");

    const nobody = await browser.open(url);
    await nobody.page.getByText("This link is not valid any more").waitFor();
    expect(await nobody.page.context().cookies()).toEqual([]);
  });

  test("by a link asks a person who is signed in, and leaves the session to those who want to keep it", async () => {
    const { page } = await signedIn(browser, world);
    // In the same tab, where the browser loads no page for another fragment.
    await page.goto(await strangersLink());
    await page.getByRole("heading", { name: "You are signed in already" }).waitFor();
    expect(await nameIn(page)).toBe("default");
    await page.getByRole("button", { name: "Stay signed in as default" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect([await nameIn(page), new URL(page.url()).hash]).toEqual(["default", ""]);
  });

  test("by a link signs in as its account once that is confirmed, and then by no second click", async () => {
    const { page } = await signedIn(browser, world);
    const link = await strangersLink();
    const other = await page.context().newPage();
    await other.goto(link);
    await other.getByRole("button", { name: "Sign in as stranger" }).click();
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    expect(await nameIn(other)).toBe("stranger");
    const again = await browser.open(link);
    await again.page.getByText("This link is not valid any more").waitFor();
  });

  test("leaves the address of the form", async () => {
    const { page } = await signedIn(browser, world, "login");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.waitForFunction(() => location.pathname === "/console/");
    // A person who comes back to the form with a session leaves it too.
    await page.goto(String(consoleOf(world, "login")));
    await page.waitForFunction(() => location.pathname === "/console/");
  });
});
