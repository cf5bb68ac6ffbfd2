import { beforeAll, expect, test } from "bun:test";
import type { WatchedPage } from "../support/browser.ts";
import type { WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, fillLog, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of webhooks", () => {
  const setup = setUpConsole({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });
  let ada: WorldInbox;
  let endpointId: string;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    await fillLog(setup.world, ada, 2_500);
    for (let number = 12; number > 0; number -= 1) {
      const endpoint = { url: `http://127.0.0.1:65000/hook/${number}`, eventTypes: ["*"] };
      const { status, body } = await setup.world.api("/v1/webhooks", { method: "POST", body: endpoint });
      expect(status).toBe(201);
      endpointId = body.id;
    }
  }, 60_000);

  /** The requests to the API so far, without the stream, which stays open. */
  const requestsOf = ({ requested }: WatchedPage) =>
    requested.filter(({ pathname }) => pathname.startsWith("/v1/") && !pathname.endsWith("/stream"));

  async function opened(): Promise<WatchedPage> {
    const watched = await signedIn(setup, "no/such/place");
    await watched.page.clock.install();
    const before = requestsOf(watched).length;
    await watched.page.goto(consoleOf(setup.world, "webhooks").href);
    await watched.page.locator(".endpoint").nth(11).waitFor();
    await watched.page.locator(".connection.is-stream").waitFor();
    expect(requestsOf(watched).length - before).toBeLessThanOrEqual(6);
    await watched.page.clock.pauseAt(await watched.page.evaluate(() => Date.now() + 200));
    return watched;
  }

  test("opens with six requests at most, and loads twice for a burst of events", async () => {
    const watched = await opened();
    const { page } = watched;
    const before = requestsOf(watched).length;
    await arrive(setup.world, ada, { subject: "The first of ten" });
    while (requestsOf(watched).length === before) await page.clock.runFor(100);
    for (let number = 2; number <= 10; number += 1) await arrive(setup.world, ada, { subject: `Number ${number}` });
    const change = { description: "Named after the burst" };
    await setup.world.api(`/v1/webhooks/${endpointId}`, { method: "PATCH", body: change });
    const shown = page.locator(".endpoint", { hasText: "Named after the burst" });
    while ((await shown.count()) === 0) await page.clock.runFor(1_000);
    expect(requestsOf(watched).length - before).toBe(2);
    await shown.getByText("last delivery").waitFor();
    await shown.getByRole("link", { name: "connection refused" }).waitFor();
    await page.context().close();
  }, 60_000);

  test("loads nothing while its tab is hidden, and once when it is shown again", async () => {
    const watched = await opened();
    const { page } = watched;
    const setHidden = (isHidden: boolean) =>
      page.evaluate((value) => {
        Object.defineProperty(document, "hidden", { configurable: true, value });
        document.dispatchEvent(new Event("visibilitychange"));
      }, isHidden);
    await setHidden(true);
    const before = requestsOf(watched).length;
    for (let number = 1; number <= 5; number += 1) {
      await arrive(setup.world, ada, { subject: `Unseen ${number}` });
      await page.clock.runFor(1_000);
    }
    expect(requestsOf(watched).length).toBe(before);
    await setHidden(false);
    while (requestsOf(watched).length === before) await page.clock.runFor(100);
    expect(requestsOf(watched).length).toBe(before + 1);
    await page.context().close();
  }, 60_000);
});
