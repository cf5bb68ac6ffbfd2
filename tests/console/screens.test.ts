import { beforeAll, expect, test } from "bun:test";
import { findFirstAccount } from "../../src/store/account/accounts.ts";
import { newGrant } from "../support/connecting.ts";
import { insertOwnDomain } from "../support/own-domain.ts";
import { quarantinedMail } from "../support/ruled.ts";
import { pageFaults } from "./page-faults.ts";
import { arrive, consoleOf, describeInBrowser, goTo, send, setUpConsole, signedIn } from "./support.ts";

/** The widths at which each screen is looked at, with themes: the layout depends on the width, the colours on the theme. */
const looks = [
  [360, "light"],
  [360, "dark"],
  [900, "light"],
  [1400, "dark"],
] as const;

describeInBrowser("Each screen of the console", () => {
  const setup = setUpConsole({ env: { SENDS_PER_MINUTE: "0", ALLOW_PRIVATE_WEBHOOKS: "1" } });
  /** The address of each screen, and a selector that matches once it is complete. */
  const screens: [address: string, sign: string][] = [];
  beforeAll(async () => {
    const ada = await setup.world.inbox("ada");
    const thread = await arrive(setup.world, ada, { subject: "Where is it?", html: "<h1>Hello</h1><p>Where?</p>" });
    await arrive(setup.world, ada, { subject: "A rather long subject, as people write them who have time".repeat(3) });
    const long = await setup.world.inbox("customer-support-department-11");
    const from = `${"jane.".repeat(8)}doe@a-rather-long-name-of-a-company.example.com`;
    const longThread = await arrive(setup.world, long, {
      subject: "Donaudampfschifffahrtsgesellschaft".repeat(5),
      from,
    });
    const longMessage = await send(setup.world, long, {
      to: from,
      subject: "Kapitän".repeat(20),
      body: "word".repeat(100),
    });
    const message = await send(setup.world, ada, { to: "joe@example.com", subject: "Hi", body: "Hello" });
    const hook = { url: "http://127.0.0.1:65000/hook", eventTypes: ["*"] };
    const { status, body: endpoint } = await setup.world.api("/v1/webhooks", { method: "POST", body: hook });
    expect([status, endpoint.id]).toEqual([201, expect.any(String)]);
    await setup.world.api("/v1/suppressions", { method: "POST", body: { address: "gone@example.com" } });
    await setup.world.api(`/v1/inboxes/${long.id}`, { method: "PATCH", body: { sendPolicy: "approve_all" } });
    await send(setup.world, long, { to: from, subject: "Kapitän".repeat(20), body: "Hello" });
    await newGrant(setup.world);
    await quarantinedMail(setup.world, long);
    const account = await findFirstAccount(setup.world.service.deps.db.api);
    const name = "a-rather-long-name-of-a-company.example.com";
    const missing = {
      purpose: "mx",
      name,
      status: "invalid",
      problem: "other_server",
      found: ["mx.example.net"],
    } as const;
    const domain = await insertOwnDomain(setup.world.service.deps.db.api, {
      accountId: account?.id ?? "",
      name,
      recordsSeen: [missing],
    });
    const { body: log } = await setup.world.api("/v1/events?types=*");
    screens.push(
      ["", ".last-mail a"],
      ["inboxes", ".inbox-rows .row"],
      [`inboxes/${ada.id}`, "[data-thread]"],
      [`inboxes/${ada.id}/settings`, ".inbox-settings"],
      [`inboxes/${ada.id}?view=search&q=subject`, ".is-found"],
      [`inboxes/${ada.id}?view=search&q=none`, ".empty"],
      [`threads/${thread}`, ".paper iframe"],
      [`compose?inbox=${ada.id}`, ".compose"],
      ["approvals", ".rows .row"],
      ["outbox", ".page .empty, .rows .row"],
      ["events", ".event-rows .row"],
      [`events/${log.data[0].event_id}`, ".attempts"],
      ["webhooks", ".endpoint"],
      [`webhooks/${endpoint.id}`, ".facts"],
      ["suppressions", ".rows .row"],
      ["rules", ".policy"],
      ["quarantine", ".rows .row"],
      ["domains", ".rows .row"],
      [`domains/${domain.id}`, ".dns-record"],
      ["keys", ".rows .row"],
      ["usage", ".section .rows .row, .section .empty"],
      ["audit", ".row-fold"],
      [`messages/${message}`, ".step"],
      [`inboxes/${long.id}`, "[data-thread]"],
      [`inboxes/${long.id}?view=unread`, "[data-thread]"],
      [`threads/${longThread}`, ".paper, .message-text"],
      [`compose?inbox=${long.id}`, ".compose"],
      [`messages/${longMessage}`, ".step"],
      ["no/such/place", ".empty"],
    );
  });

  test("fits the width and has no accessibility violation, light and dark", async () => {
    const { page, faults } = await signedIn(setup);
    const found: unknown[] = [];
    for (const [address, sign] of screens) {
      await goTo(page, address);
      await page.locator(sign).first().waitFor({ state: "attached" });
      for (const [width, colorScheme] of looks) {
        await page.setViewportSize({ width, height: 800 });
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        found.push(...(await pageFaults(page)).map((fault) => [address, width, colorScheme, fault]));
      }
    }
    expect(found).toEqual([]);
    expect(faults.filter((fault) => !/40[14]/.test(fault))).toEqual([]);
  }, 120_000);

  test("is the sign-in form, without a violation, for a visitor without a session", async () => {
    const { page } = await setup.browser.open(consoleOf(setup.world, "inboxes"), { width: 360 });
    await page.locator("#key").waitFor();
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await pageFaults(page)).toEqual([]);
    await page.fill("#key", "ibx_wrong");
    await page.press("#key", "Enter");
    await page.getByText("Unknown API key").waitFor();
    expect(await pageFaults(page)).toEqual([]);
  });

  test("is light or dark as the system or as chosen, also after a reload", async () => {
    const { page } = await signedIn(setup, "", { colorScheme: "dark" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.getByRole("button", { name: "Theme: System" }).click();
    const light = await background();
    await page.reload();
    await page.getByRole("button", { name: "Theme: Light" }).waitFor();
    expect(await background()).toBe(light);
    expect(light).not.toBe(dark);
  });
});
