import { expect, test } from "bun:test";
import { transaction } from "../../src/database/db.ts";
import { findFirstAccount } from "../../src/store/account/accounts.ts";
import { insertEvents } from "../../src/store/events/fan-out.ts";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of events", () => {
  const setup = setUpConsole();

  test("begins at the end of a long log, and shows any event of it with its payload", async () => {
    const { world } = setup;
    const inbox = await world.inbox("ada");
    await arrive(world, inbox, { subject: "The very first" });
    const { body: log } = await world.api("/v1/events?types=message.received");
    const first = log.data[0].event_id;
    const { deps } = world.service;
    const account = await findFirstAccount(deps.db.api);
    const createdAt = world.clock.now();
    // More than the 2,000 events that the page could read once.
    await transaction(deps.db.api, async (tx) => {
      for (let batch = 0; batch < 25; batch += 1) {
        await insertEvents(
          tx,
          Array.from({ length: 100 }, () => ({
            id: deps.newId("evt", createdAt),
            accountId: account?.id ?? "",
            inboxId: inbox.id,
            threadId: null,
            messageId: null,
            type: "inbox.created" as const,
            occurredAt: createdAt,
            data: { address: inbox.address, externalId: null, createdAt: createdAt.toISOString() },
          })),
        );
      }
    });
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
