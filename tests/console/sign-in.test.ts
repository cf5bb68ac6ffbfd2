import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { accessTokens } from "../../src/flows/account/access-tokens.ts";
import { createAccount } from "../../src/flows/account/manage-accounts.ts";
import { signInLinkOfAccount } from "../../src/flows/account/sign-in.ts";
import { signingKeyOf } from "../../src/flows/account/signing-key.ts";
import { arrive, consoleOf, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("Signing in at the console", () => {
  const setup = setUpConsole({ database: "embedded" });
  let stranger: { account: { id: string; name: string }; apiKey: string };
  beforeAll(async () => {
    stranger = await createAccount(setup.world.service.deps, { name: "stranger", plan: "free" });
  }, 60_000);

  async function strangersLink(): Promise<string> {
    const { deps } = setup.world.service;
    const tokens = await accessTokens(await signingKeyOf(deps, undefined), "00");
    const baseUrl = () => setup.world.service.apiUrl.origin;
    return (await signInLinkOfAccount({ ...deps, tokens, baseUrl }, stranger.account)).url;
  }

  const nameIn = async (page: Page) => {
    const account = await page.evaluate(async () => (await fetch("/v1/account")).json());
    return (account as { name?: string }).name;
  };

  test("does not work by a link in a mail that contains a stranger's API key", async () => {
    const inbox = await setup.world.inbox("ada");
    const url = `${setup.world.service.apiUrl.origin}/console/#t=${stranger.apiKey}`;
    const threadId = await arrive(setup.world, inbox, {
      subject: "Click me",
      html: `<a href="${url}">Your invoice</a>`,
    });
    const { page } = await signedIn(setup, `threads/${threadId}`);
    const opened = page.context().waitForEvent("page");
    await page.frameLocator(".paper iframe").getByRole("link", { name: "Your invoice" }).click();
    const there = await opened;
    await there.getByText("This link is no longer valid").waitFor();
    expect([await nameIn(there), await nameIn(page)]).toEqual(["default", "default"]);
    expect(new URL(there.url()).hash).toBe("");

    const nobody = await setup.browser.open(url);
    await nobody.page.getByText("This link is no longer valid").waitFor();
    expect(await nobody.page.context().cookies()).toEqual([]);
  });

  test("by a link asks first if there is a session, which can be kept", async () => {
    const { page } = await signedIn(setup);
    // In the same tab, a new fragment does not load the page again.
    await page.goto(await strangersLink());
    await page.getByRole("heading", { name: "You are already signed in" }).waitFor();
    expect(await nameIn(page)).toBe("default");
    await page.getByRole("button", { name: "Stay signed in as default" }).click();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    expect([await nameIn(page), new URL(page.url()).hash]).toEqual(["default", ""]);
  });

  test("by a link replaces the session after a confirmation, and works only once", async () => {
    const { page } = await signedIn(setup);
    const link = await strangersLink();
    const other = await page.context().newPage();
    await other.goto(link);
    await other.getByRole("button", { name: "Sign in as stranger" }).click();
    await other.getByRole("heading", { name: "Overview" }).waitFor();
    expect(await nameIn(other)).toBe("stranger");
    const again = await setup.browser.open(link);
    await again.page.getByText("This link is no longer valid").waitFor();
  });

  test("leads away from the address of the form", async () => {
    const { page } = await signedIn(setup, "login");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.waitForFunction(() => location.pathname === "/console/");
    // So does opening the form with a session.
    await page.goto(String(consoleOf(setup.world, "login")));
    await page.waitForFunction(() => location.pathname === "/console/");
  });
});
