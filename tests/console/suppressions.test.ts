import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { startWorld, type World } from "../support/world.ts";
import { signedIn } from "./support.ts";

describe.skipIf(chromiumPath === undefined)("The screen of suppressions", () => {
  let browser: Browser;
  let world: World;
  beforeAll(async () => {
    [browser, world] = await Promise.all([startBrowser(), startWorld()]);
  }, 60_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("puts an address on the list by the keyboard, says what is wrong with another, and takes it off after a question", async () => {
    const { page, faults } = await signedIn(browser, world, "suppressions");
    await page.getByText("Nobody is suppressed").waitFor();
    const field = page.getByLabel("Send no mail to");
    await field.fill("jane");
    await field.press("Enter");
    await page.getByText("address must be").waitFor();
    await field.fill("Jane@Example.com");
    await field.press("Enter");
    const row = page.locator(".rows .row");
    await row.getByText("jane@example.com").waitFor();
    expect(await row.textContent()).toContain("By hand");
    const listed = async () => (await world.api("/v1/suppressions")).body.data.map((one: Listed) => one.address);
    expect(await listed()).toEqual(["jane@example.com"]);

    await page.getByRole("button", { name: "Bounced" }).click();
    await page.getByText("Nobody for this reason").waitFor();
    await page.getByRole("button", { name: "All" }).click();
    await page.getByRole("button", { name: "Take jane@example.com off" }).click();
    await page.getByRole("button", { name: "Take it off", exact: true }).last().click();
    await page.getByText("Nobody is suppressed").waitFor();
    expect(await listed()).toEqual([]);
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
  });
});

interface Listed {
  address: string;
}
