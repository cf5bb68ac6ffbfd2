import { expect, test } from "bun:test";
import { arrive, describeInBrowser, fillLog, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of events", () => {
  const setup = setUpConsole();

  test("begins at the end of a long log, and shows any event of it with its payload", async () => {
    const { world } = setup;
    const inbox = await world.inbox("ada");
    await arrive(world, inbox, { subject: "The very first" });
    const { body: log } = await world.api("/v1/events?types=message.received");
    const first = log.data[0].event_id;
    // More than the 2,000 events that the page could read once.
    await fillLog(world, inbox, 2_500);
    await arrive(world, inbox, { subject: "The very last" });
    const { page, requested } = await signedIn(setup, "events");
    await page.locator(".event-rows .row", { hasText: "The very last" }).waitFor();
    const asked = requested.filter(({ pathname }) => pathname === "/v1/events").length;
    expect(asked).toBeLessThanOrEqual(2);
    expect(await page.locator(".event-rows .row").count()).toBe(100);
    await page.getByText("Show earlier").click();
    await page.locator(".event-rows .row").nth(199).waitFor();
    await page.getByRole("button", { name: "Received" }).click();
    await page.locator(".event-rows .row", { hasText: "The very first" }).click();
    await page.locator("code", { hasText: first }).first().waitFor();
    expect(await page.locator("section[aria-labelledby=payload]").textContent()).toContain("The very first");
    await page.context().close();
  }, 90_000);
});
