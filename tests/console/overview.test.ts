import { beforeAll, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import type { Page } from "playwright-core";
import { query } from "../../src/database/db.ts";
import type { WatchedPage } from "../support/browser.ts";
import { untilAnswered } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import {
  arrive,
  consoleOf,
  describeInBrowser,
  fillLog,
  goTo,
  send,
  setHidden,
  setUpConsole,
  signedIn,
} from "./support.ts";

/**
 * The requests to the API so far, with the one for the stream. Without the one for the end of the log: the client makes it
 * if the stream takes longer than 250 ms, as on a busy machine.
 */
const requestsOf = ({ requested }: WatchedPage) =>
  requested.filter(({ pathname, search }) => pathname.startsWith("/v1/") && search !== "?types=*&order=desc&limit=1");

describeInBrowser("The overview of twelve inboxes and 2,500 events", () => {
  const setup = setUpConsole({ env: { SENDS_PER_MINUTE: "0" } });
  const inboxes: WorldInbox[] = [];
  beforeAll(async () => {
    for (let number = 1; number <= 12; number += 1) inboxes.push(await setup.world.inbox(`number-${number}`));
    await fillLog(setup.world, inboxes[0] as WorldInbox, 2_500);
    for (const inbox of inboxes) await arrive(setup.world, inbox, { subject: `To ${inbox.address}` });
    // Usage is counted behind the mail, and the page would load it again after 30 seconds.
    await untilAnswered(async () =>
      (await setup.world.api("/v1/usage")).body.totals.received >= inboxes.length ? true : undefined,
    );
  }, 60_000);

  const inboxAt = (index: number) => inboxes[index] as WorldInbox;

  /** Opens the overview, and stops the clock of the page. */
  async function opened(): Promise<WatchedPage> {
    const watched = await signedIn(setup, "no/such/place");
    const { page } = watched;
    await page.clock.install();
    const before = requestsOf(watched).length;
    await page.goto(consoleOf(setup.world).href);
    await page.locator(".last-mail li").nth(9).waitFor();
    await page.locator(".connection.is-stream").waitFor();
    await page.locator(".days-chart .key", { hasText: /Received [1-9]/ }).waitFor();
    await page.locator(".needs", { hasText: "unread threads" }).waitFor();
    expect(requestsOf(watched).length - before).toBeLessThanOrEqual(6);
    await page.clock.pauseAt(await page.evaluate(() => Date.now() + 200));
    return watched;
  }

  const unread = async (page: Page) => Number((await page.locator(".needs .is-accent strong").textContent()) ?? 0);

  test("loads the account once, however long its code takes", async () => {
    const watched = await signedIn(setup, "no/such/place");
    const { page } = watched;
    await page.clock.install();
    const { promise: isLate, resolve: goOn } = Promise.withResolvers<void>();
    await page.route(/\/assets\/overview-/, (route) => isLate.then(() => route.continue()));
    const before = requestsOf(watched).length;
    await page.goto(consoleOf(setup.world).href);
    await page.locator("#navigation").waitFor({ state: "attached" });
    await page.clock.fastForward(5_000);
    goOn();
    await page.locator(".needs", { hasText: "unread threads" }).waitFor();
    const asked = requestsOf(watched).slice(before);
    expect(asked.filter(({ pathname }) => pathname === "/v1/account").length).toBe(1);
    await page.context().close();
  });

  test("opens with six requests, and makes one for a burst of events", async () => {
    const watched = await opened();
    const { page } = watched;
    const [before, unreadBefore] = [requestsOf(watched).length, await unread(page)];
    for (let number = 1; number <= 10; number += 1) {
      await arrive(setup.world, inboxAt(number), { subject: `Burst ${number}` });
      await page
        .locator(".last-mail li", { hasText: `Burst ${number}` })
        .first()
        .waitFor();
      await page.clock.runFor(300);
    }
    expect(requestsOf(watched).length).toBe(before);
    await page.clock.runFor(1_000);
    await page.locator(".needs .is-accent", { hasText: String(unreadBefore + 10) }).waitFor();
    await page.clock.runFor(5_000);
    expect(requestsOf(watched).length).toBe(before + 1);
    await page.context().close();
  }, 60_000);

  test("makes one request every ten seconds while events come without a pause", async () => {
    const watched = await opened();
    const { page } = watched;
    const before = requestsOf(watched).length;
    for (let number = 1; number <= 14; number += 1) {
      await arrive(setup.world, inboxAt(2), { subject: `Steady ${number}` });
      await page
        .locator(".last-mail li", { hasText: `Steady ${number}` })
        .first()
        .waitFor();
      await page.clock.runFor(800);
    }
    while (requestsOf(watched).length === before) await page.clock.runFor(100);
    expect(requestsOf(watched).length).toBeLessThanOrEqual(before + 1);
    await page.context().close();
  }, 60_000);

  test("makes no request while its tab is hidden, and one when it is shown again", async () => {
    const watched = await opened();
    const { page } = watched;
    await setHidden(page, true);
    const before = requestsOf(watched).length;
    await arrive(setup.world, inboxAt(3), { subject: "Unseen" });
    await page.locator(".last-mail li", { hasText: "Unseen" }).waitFor();
    // A tick of the clock passes, but not so much time that the client takes its stream for dead.
    await page.clock.runFor(35_000);
    expect(requestsOf(watched).length).toBe(before);
    await setHidden(page, false);
    while (requestsOf(watched).length < before + 1) await page.clock.runFor(100);
    expect(requestsOf(watched).length).toBe(before + 1);
    await page.context().close();
  }, 60_000);

  test("loads usage, stats and webhooks every 30 seconds, since they change without an event", async () => {
    const watched = await opened();
    const { page } = watched;
    const before = requestsOf(watched).length;
    await page.clock.runFor(31_000);
    while (requestsOf(watched).length < before + 3) await page.clock.runFor(10);
    const paths = requestsOf(watched)
      .slice(before)
      .map(({ pathname }) => pathname);
    expect(paths.toSorted()).toEqual(["/v1/stats", "/v1/usage", "/v1/webhooks"]);
    await page.context().close();
  }, 60_000);

  test("has the mail of all inboxes in one chart", async () => {
    const { page } = await signedIn(setup);
    const { body } = await setup.world.api("/v1/usage");
    await page.locator(".days-chart .key", { hasText: `Received ${body.totals.received}` }).waitFor();
    expect(body.totals.received).toBeGreaterThan(12);
    expect(await page.locator(".days-chart tbody tr").count()).toBe(14);
    await page.context().close();
  }, 60_000);

  test("loads the counts again when one comes back to it", async () => {
    const { page } = await signedIn(setup);
    await page.locator(".needs .is-accent").waitFor();
    const before = await unread(page);
    await goTo(page, "no/such/place");
    await page.locator(".empty").waitFor();
    await arrive(setup.world, inboxAt(4), { subject: "Meanwhile" });
    await page.clock.install({ time: Date.now() + 60_000 });
    await goTo(page, "");
    await page.locator(".needs .is-accent", { hasText: String(before + 1) }).waitFor();
    await page.context().close();
  }, 60_000);
});

describeInBrowser("The overview says what needs somebody", () => {
  const setup = setUpConsole({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });

  const needs = async (page: Page) => {
    await page.reload();
    await page.locator(".needs li, .needs p", { hasText: /\w/ }).first().waitFor();
    await page.locator(".figure", { hasText: /\d/ }).first().waitFor();
    return page.locator(".needs li").allInnerTexts();
  };

  test("failing and disabled webhooks, but not those that somebody disabled", async () => {
    const { world } = setup;
    const { api: db } = world.service.deps.db;
    await world.inbox("ada");
    const made = async (name: string) => {
      const body = { url: `http://127.0.0.1:65000/${name}` };
      return (await world.api("/v1/webhooks", { method: "POST", body })).body.id as string;
    };
    const ids = { healthy: await made("healthy"), off: await made("off"), gone: await made("gone") };
    const { page } = await signedIn(setup);
    await page.getByText("Nothing needs you").waitFor();
    await world.api(`/v1/webhooks/${ids.off}`, { method: "PATCH", body: { disabled: true } });
    await page.reload();
    await page.getByText("Nothing needs you").waitFor();
    await query(db, sql`update endpoints set failing_since = now() where id = ${ids.healthy}`);
    await page.reload();
    await page.locator(".needs .is-warm", { hasText: "1 webhook failing" }).waitFor();
    await query(db, sql`update endpoints set disabled_at = now(), disabled_reason = 'gone' where id = ${ids.gone}`);
    await page.reload();
    await page.locator(".needs .is-bad", { hasText: "1 webhook disabled" }).waitFor();
    expect((await needs(page)).map((text) => text.split(" since")[0])).toEqual([
      "1 webhook disabled",
      "1 webhook failing",
    ]);
    expect(await page.locator(".needs .is-bad").getAttribute("href")).toEndWith(`/webhooks/${ids.gone}`);
    await page.context().close();
  }, 60_000);

  test("work that is stuck in the outbox, failed mail and unread threads", async () => {
    const { world } = setup;
    const { api: db } = world.service.deps.db;
    const bob = await world.inbox("bob");
    const { page } = await signedIn(setup);
    await query(db, sql`delete from endpoints`);
    await arrive(world, bob, { subject: "Unread" });
    const messageId = await send(world, bob, { to: "joe@example.com", subject: "Hi", body: "Hello" });
    const at = (secondsAgo: number) => new Date(world.clock.now().getTime() - secondsAgo * 1000);
    await query(
      db,
      sql`insert into events (id, account_id, inbox_id, message_id, type, occurred_at)
          select 'evt_failed' || number, account_id, id, ${messageId}, 'message.failed', ${at(60)}
          from inboxes, generate_series(1, 2) number where id = ${bob.id}`,
    );
    await query(
      db,
      sql`insert into outbox (subject_id, kind, account_id, inbox_id, lane, state, due_at, created_at)
          select 'evt_stuck', 'webhook', account_id, id, account_id, 'waiting', 'infinity', ${at(200)} from inboxes where id = ${bob.id}`,
    );
    world.clock.pass(11_000);
    await page.reload();
    await page.locator(".needs", { hasText: "failed" }).waitFor();
    expect(await needs(page)).toEqual(["2 mails failed in the last hour", "1 unread thread"]);
    await query(db, sql`update outbox set created_at = ${at(889)} where subject_id = 'evt_stuck'`);
    world.clock.pass(11_000);
    await page.reload();
    await page.locator(".needs", { hasText: "in the outbox" }).waitFor();
    expect(await needs(page)).toEqual([
      "1 item in the outbox, the oldest for 15 min",
      "2 mails failed in the last hour",
      "1 unread thread",
    ]);
    await page.context().close();
  }, 60_000);
});
