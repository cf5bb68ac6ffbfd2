import { afterAll, beforeAll, expect, test } from "bun:test";
import type { WatchedPage } from "../support/browser.ts";
import { answer, type Receiver, startReceiver } from "../support/receiver.ts";
import { untilAnswered } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, fillLog, setHidden, setUpConsole, signedIn } from "./support.ts";

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
    await setHidden(page, true);
    const before = requestsOf(watched).length;
    for (let number = 1; number <= 5; number += 1) {
      await arrive(setup.world, ada, { subject: `Unseen ${number}` });
      await page.clock.runFor(1_000);
    }
    expect(requestsOf(watched).length).toBe(before);
    await setHidden(page, false);
    while (requestsOf(watched).length === before) await page.clock.runFor(100);
    expect(requestsOf(watched).length).toBe(before + 1);
    await page.context().close();
  }, 60_000);
});

describeInBrowser("The screen of a webhook endpoint", () => {
  const setup = setUpConsole({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });
  let ada: WorldInbox;
  let receiver: Receiver;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    receiver = await startReceiver();
  }, 60_000);
  afterAll(() => receiver?.close());

  async function created(settings: object = {}): Promise<string> {
    const endpoint = { url: receiver.url, ...settings };
    const { status, body } = await setup.world.api("/v1/webhooks", { method: "POST", body: endpoint });
    expect(status).toBe(201);
    return body.id;
  }

  /** Waits until an attempt to deliver the event of the last mail has failed, and gives the delivery up. */
  async function giveUp(subject: string): Promise<void> {
    const count = receiver.requests.length;
    await arrive(setup.world, ada, { subject });
    await receiver.request(count + 1);
    const item = await untilAnswered(async () => {
      const { body } = await setup.world.api("/v1/outbox?kind=webhook&state=waiting");
      return body.data[0]?.id as string | undefined;
    });
    await setup.world.api(`/v1/outbox/${item}`, { method: "DELETE" });
    setup.world.clock.pass(120_000);
  }

  test("lists its deliveries with subject and latency, and redelivers all that failed since a time", async () => {
    const id = await created();
    receiver.behave(answer(200));
    await arrive(setup.world, ada, { subject: "Delivered" });
    await receiver.request(1);
    setup.world.clock.pass(120_000);
    receiver.behave(answer(500));
    await giveUp("Failed early");
    const since = setup.world.clock.now();
    for (const subject of ["Failed late", "Failed last"]) await giveUp(subject);
    receiver.behave(answer(200));

    const { page } = await signedIn(setup, `webhooks/${id}`);
    const rows = page.locator(".section .row");
    await rows.filter({ hasText: "Delivered" }).waitFor();
    expect(await rows.locator(".strong").allTextContents()).toEqual([
      "Failed last",
      "Failed late",
      "Failed early",
      "Delivered",
    ]);
    expect(await rows.first().textContent()).toMatch(/answered 500.*failed.*\d+ ms/);
    const local = await page.evaluate((ms) => {
      const zoneMs = new Date(ms).getTimezoneOffset() * 60_000;
      return new Date(ms - zoneMs).toISOString().slice(0, 16);
    }, since.getTime());
    await page.getByLabel("Redeliver all failed since").fill(local);
    const before = receiver.requests.length;
    await page.getByRole("button", { name: "Redeliver all" }).click();
    await page.getByText("2 events queued for redelivery").waitFor();
    await receiver.request(before + 2);
    const subjects = receiver.requests.slice(before).map(({ body }) => JSON.parse(body).message.subject);
    expect(subjects).toEqual(["Failed late", "Failed last"]);
    await page.getByRole("button", { name: "Failed", exact: true }).click();
    await page.waitForFunction(() => document.querySelectorAll(".section .row").length === 1);
    await page.context().close();
  }, 60_000);

  test("shows its deliveries page by page", async () => {
    const id = await created({ eventTypes: ["inbox.created"] });
    await fillLog(setup.world, ada, 30);
    const { page } = await signedIn(setup, `webhooks/${id}`);
    const untilShown = (count: number) =>
      page.waitForFunction((rows) => document.querySelectorAll(".section .row").length === rows, count);
    await untilShown(25);
    await page.getByRole("button", { name: "Next" }).click();
    // The inbox itself is an event too.
    await untilShown(6);
    await page.getByRole("button", { name: "Previous" }).click();
    await untilShown(25);
    await page.context().close();
  }, 60_000);

  test("changes its settings, and keeps those that the form does not show", async () => {
    const id = await created({ eventTypes: ["message.received", "message.sent"], inboxIds: [ada.id] });
    const { page } = await signedIn(setup, `webhooks/${id}`);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.fill("#description", "Order desk");
    await page.getByRole("checkbox", { name: "Sent" }).uncheck();
    await page.getByRole("checkbox", { name: "Bounced" }).check();
    await page.fill("#url", "nowhere");
    await page.getByRole("button", { name: "Save" }).click();
    await page.locator(".field-fault").waitFor();
    await page.fill("#url", `${receiver.url}/other`);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Endpoint saved").waitFor();
    expect((await setup.world.api(`/v1/webhooks/${id}`)).body).toMatchObject({
      url: `${receiver.url}/other`,
      description: "Order desk",
      eventTypes: ["message.received", "message.bounced"],
      inboxIds: [ada.id],
    });
    await page.context().close();
  }, 60_000);

  test("tells when and why an endpoint was disabled", async () => {
    const id = await created();
    receiver.behave(answer(410));
    await arrive(setup.world, ada, { subject: "To an endpoint that is gone" });
    await untilAnswered(async () => (await setup.world.api(`/v1/webhooks/${id}`)).body.disabledAt ?? undefined);
    const { page } = await signedIn(setup, "webhooks");
    const card = page.locator(".endpoint", { hasText: "it answered 410 (gone)" }).first();
    expect(await card.locator(".endpoint-state time").getAttribute("datetime")).toMatch(/^2026-03-21T/);
    await page.context().close();
  }, 60_000);
});
