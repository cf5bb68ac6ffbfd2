import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { refused } from "../mail/report/fixtures.ts";
import { type Browser, chromiumPath, startBrowser } from "../support/browser.ts";
import { report, returnPathOf, signingKey } from "../support/reported.ts";
import { send } from "../support/sends.ts";
import { startWorld, type World } from "../support/world.ts";
import { signedIn } from "./support.ts";

describe.skipIf(chromiumPath === undefined)("The screen of a message", () => {
  let browser: Browser;
  let world: World;
  beforeAll(async () => {
    const env = { SIGNING_KEY: signingKey, SEND_WAIT_MS: "20000" };
    [browser, world] = await Promise.all([startBrowser(), startWorld({ env })]);
  }, 60_000);
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  test("says what came back about it, of whom, and tells so when more comes", async () => {
    const inbox = await world.inbox();
    const to = ["ann@example.com", "jane@example.com"];
    const { body } = await send(world, inbox.id, { to }, { waits: true });
    const { page, faults } = await signedIn(browser, world, `messages/${body.messageId}`);
    await page.getByText("nothing has come back").waitFor();
    await report(world, refused("smtp; 550 5.1.1 User unknown", "5.1.1"), await returnPathOf(body.messageId));
    await page.getByRole("heading", { name: "What came back" }).waitFor();
    const told = await page.locator("section[aria-labelledby=reports] .row").allTextContents();
    expect(told).toEqual([expect.stringMatching(/^jane@example\.com.*User unknown.*hard/)]);
    const each = await page.locator("section[aria-labelledby=recipients] .row-state").allTextContents();
    expect(each.map((words) => words.toLowerCase())).toEqual(["sent", "bounced"]);
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
  });
});
