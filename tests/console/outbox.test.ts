import { beforeAll, expect, test } from "bun:test";
import { startReceiver } from "../support/receiver.ts";
import { untilAnswered } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import { describeInBrowser, send, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of the outbox", () => {
  // No server listens on port 1, so all mail waits.
  const setup = setUpConsole({ env: { OUTBOUND: "smtp://127.0.0.1:1?tls=off", ALLOW_PRIVATE_WEBHOOKS: "1" } });
  let ada: WorldInbox;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
  }, 60_000);

  const untilWait = (count: number, kind: "relay" | "webhook") =>
    untilAnswered(async () => {
      const { body } = await setup.world.api(`/v1/outbox?kind=${kind}&state=waiting&limit=100`);
      return body.data.length === count || undefined;
    });

  test("groups the items by their error, and retries a group", async () => {
    const ids: string[] = [];
    for (const name of ["grace", "hugo"]) {
      ids.push(await send(setup.world, ada, { to: `${name}@example.com`, subject: name, body: "x" }));
    }
    await untilWait(2, "relay");
    const { page } = await signedIn(setup, "outbox");
    const group = page.locator(".error-groups .row", { hasText: "connection refused" });
    await group.getByText("2 mails since").waitFor();
    const retries: string[] = [];
    page.on("request", (request) => {
      if (request.method() === "POST") retries.push(new URL(request.url()).pathname);
    });
    await group.getByRole("button", { name: "Retry all" }).click();
    await page.getByText("2 items queued for retry").waitFor();
    expect(retries.toSorted()).toEqual(ids.map((id) => `/v1/outbox/${id}/retry`).toSorted());
    await untilWait(2, "relay");
    for (const id of ids) await setup.world.api(`/v1/messages/${id}/cancel`, { method: "POST" });
    await page.context().close();
  });

  test("retries several items, and cancels several after a question, a mail with two destinations as a whole", async () => {
    const several = { to: ["bob@one.example", "bob@two.example"], subject: "several", body: "x" };
    const ids = [await send(setup.world, ada, several)];
    for (const name of ["cleo", "dan"])
      ids.push(await send(setup.world, ada, { to: `${name}@example.com`, subject: name, body: "x" }));
    await untilWait(3, "relay");
    const { page, faults } = await signedIn(setup, "outbox");
    const toolbar = page.getByRole("toolbar", { name: "Selected in the outbox" });
    for (const name of ["cleo", "dan"]) await page.getByLabel(`Select ${name}@example.com`).check();
    await toolbar.getByText("2 selected").waitFor();
    await toolbar.getByRole("button", { name: "Retry now" }).click();
    await page.getByText("2 items queued for retry").waitFor();
    await untilWait(3, "relay");

    const boxes = page.getByRole("checkbox");
    await boxes.nth(2).waitFor();
    for (const box of await boxes.all()) await box.check();
    await toolbar.getByRole("button", { name: "Cancel" }).click();
    await page.getByRole("button", { name: "Cancel 3 items" }).click();
    await page.getByText("The outbox is empty").waitFor();
    for (const id of ids) {
      const { body } = await setup.world.api(`/v1/messages/${id}`);
      expect([body.status, body.failure.reason]).toEqual(["failed", "canceled"]);
    }
    // Nobody is signed in at first.
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });

  test("filters by state and kind, page by page forwards and back", async () => {
    const gone = await startReceiver();
    await gone.close();
    const hook = { url: gone.url, eventTypes: ["inbox.created"] };
    expect((await setup.world.api("/v1/webhooks", { method: "POST", body: hook })).body).toMatchObject({
      url: gone.url,
    });
    for (let made = 0; made < 51; made += 1) await setup.world.inbox();
    await untilWait(51, "webhook");
    await send(setup.world, ada, { to: "erin@example.com", subject: "erin", body: "x" });
    const { page, faults } = await signedIn(setup, "outbox?kind=webhook&state=waiting");
    const rows = page.locator(".rows .row:has(.row-select)");
    const untilShown = (count: number) => untilAnswered(async () => (await rows.count()) === count || undefined);
    await untilShown(50);
    const first = await rows.first().locator("a").getAttribute("href");
    await page.getByRole("button", { name: "Next" }).click();
    await untilShown(1);
    await page.getByRole("button", { name: "Previous" }).click();
    await untilShown(50);
    expect(await rows.first().locator("a").getAttribute("href")).toBe(first);

    await page.getByRole("button", { name: "Next" }).click();
    await page.getByRole("button", { name: "Mail" }).click();
    await rows.getByText("erin@example.com").waitFor();
    expect(await rows.count()).toBe(1);
    await page.getByRole("button", { name: "running" }).click();
    await page.getByText("None here.").waitFor();
    // Nobody is signed in at first.
    expect(faults.filter((fault) => !fault.includes("401"))).toEqual([]);
  });
});
