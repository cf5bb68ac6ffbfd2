import { expect, test } from "bun:test";
import { refused } from "../mail/report/fixtures.ts";
import { report, returnPathOf, signingKey } from "../support/reported.ts";
import { send } from "../support/sends.ts";
import { describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of a message", () => {
  const setup = setUpConsole({ env: { SIGNING_KEY: signingKey, SEND_WAIT_MS: "20000" } });

  test("shows a report as soon as it arrives, with its recipient", async () => {
    const inbox = await setup.world.inbox();
    const to = ["ann@example.com", "jane@example.com"];
    const { body } = await send(setup.world, inbox.id, { to }, { waits: true });
    const { page, faults } = await signedIn(setup, `messages/${body.messageId}`);
    await page.getByText("no report yet").waitFor();
    await report(setup.world, refused("smtp; 550 5.1.1 User unknown", "5.1.1"), await returnPathOf(body.messageId));
    const bounced = page.locator(".step", { hasText: "Bounced" });
    await bounced.waitFor();
    expect(await bounced.locator(".step-note").allTextContents()).toEqual([
      expect.stringMatching(/^jane@example\.com.*User unknown/),
    ]);
    const each = await page.locator("section[aria-labelledby=recipients] .row-state").allTextContents();
    expect(each.map((status) => status.toLowerCase())).toEqual(["sent", "bounced"]);
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
  });
});
