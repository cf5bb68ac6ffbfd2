import { beforeAll, expect, test } from "bun:test";
import { revokeKey } from "../../src/flows/account/manage-accounts.ts";
import { startBalancer } from "../support/balancer.ts";
import { untilSo } from "../support/until.ts";
import { startWorld, type WorldInbox } from "../support/world.ts";
import { arrive, consoleOf, describeInBrowser, goTo, send, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The console", () => {
  const setup = setUpConsole({ env: { SENDS_PER_MINUTE: "0" } });
  let ada: WorldInbox;
  beforeAll(async () => {
    ada = await setup.world.inbox("ada");
    await arrive(setup.world, ada, { subject: "First letter", text: "How are you?" });
    await arrive(setup.world, ada, { subject: "Second letter", html: "<p>Look <b>here</b></p>" });
  }, 60_000);

  test("can be used with the keyboard alone, from signing in to a sent reply", async () => {
    const { page, faults } = await setup.browser.open(consoleOf(setup.world));
    await page.locator("#key").waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.type(setup.world.apiKey);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("i");
    await page.locator(".inbox-rows .row-link").focus();
    await page.keyboard.press("Enter");
    await page.locator("[data-thread]").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.locator("#reply").waitFor();
    expect(await page.locator(".conversation-title h2").textContent()).toBe("First letter");
    await page.keyboard.press("r");
    await page.keyboard.type("Well, thank you.");
    await page.keyboard.press("Control+Enter");
    await page.getByText("Sent to jane@example.com").waitFor();
    const { body } = await setup.world.api(`/v1/inboxes/${ada.id}/messages?direction=outbound`);
    expect(body.data).toMatchObject([{ toAddr: "jane@example.com", subject: "Re: First letter" }]);
    // The first request of the page, before signing in, fails.
    expect(faults.filter((fault) => !/40[14]/.test(fault))).toEqual([]);
  });

  test("paints its frame from the page, the style and the script, before the API and other scripts have answered", async () => {
    const { page } = await signedIn(setup);
    const { promise: isPainted, resolve: goOn } = Promise.withResolvers<void>();
    await page.route(/\/v1\/|\/assets\/(?!console-)/, (route) => isPainted.then(() => route.continue()));
    await page.reload();
    await page.locator(".navigation-ground .brand").waitFor();
    await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint").length > 0);
    const files = await page.evaluate(() =>
      performance.getEntriesByType("resource").map(({ name }) => name.split(".").at(-1)),
    );
    expect(files.filter((type) => type !== "svg").toSorted()).toEqual(["css", "js"]);
    goOn();
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  test("can be used with the mouse alone, from the link of the command line to a marked mail", async () => {
    const { url = "" } = setup.world.service.signIn ?? {};
    const { page, faults } = await setup.browser.open(consoleOf(setup.world, `#t=${url.split("#t=")[1] ?? ""}`));
    if (url === "") await page.fill("#key", setup.world.apiKey).then(() => page.click("button[type=submit]"));
    await page.getByRole("link", { name: "Inboxes", exact: true }).click();
    await page.locator(".inbox-rows .row-link").click();
    await page.locator("[data-thread]", { hasText: "Second letter" }).click();
    const frame = page.frameLocator(".paper iframe");
    await frame.getByText("here").waitFor();
    expect(new URL(page.url()).hash).toBe("");
    await page.getByRole("button", { name: "Mark read" }).click();
    await page.getByRole("button", { name: "Mark unread" }).waitFor();
    await page.getByRole("button", { name: "Headers" }).click();
    await page.locator(".headers dd", { hasText: "Second letter" }).waitFor();
    await untilSo(async () => {
      const { body } = await setup.world.api(`/v1/inboxes/${ada.id}/threads?is_read=true`);
      return body.data.some(({ subject }: { subject: string }) => subject === "Second letter");
    });
    expect(faults.filter((fault) => !/40[14]/.test(fault))).toEqual([]);
  });

  test("creates an inbox, and deletes it after a question", async () => {
    const { page } = await signedIn(setup, "inboxes");
    await page.fill("#username", "grace");
    await page.press("#username", "Enter");
    await page.locator(".inbox-rows", { hasText: "grace@" }).waitFor();
    await page.getByRole("button", { name: "Delete grace@inbox.localhost" }).click();
    await page.getByRole("button", { name: "Keep" }).click();
    expect((await setup.world.api("/v1/inboxes")).body.total).toBe(2);
    await page.getByRole("button", { name: "Delete grace@inbox.localhost" }).click();
    await page.getByRole("button", { name: "Delete inbox" }).click();
    await page.getByText("grace@inbox.localhost is deleted").waitFor();
    expect((await setup.world.api("/v1/inboxes")).body.total).toBe(1);
  });

  test("sends a mail once, even after a double click", async () => {
    const { page } = await signedIn(setup, `compose?inbox=${ada.id}`);
    await page.fill("#to", "joe@example.com");
    await page.fill("#subject", "Only one");
    await page.fill(".compose-body", "Is it?");
    await page.locator(".compose button[type=submit]").dblclick();
    await page.locator(".conversation-title h2", { hasText: "Only one" }).waitFor();
    const { body } = await setup.world.api(`/v1/inboxes/${ada.id}/messages?to=joe@example.com`);
    expect(body.total).toBe(1);
  });

  test("has at most 40 of 10,000 threads in the document, at any scroll position", async () => {
    const { page } = await signedIn(setup);
    await page.route("**/v1/inboxes/*/threads?*", async (route) => {
      const query = new URL(route.request().url()).searchParams;
      const offset = Number(query.get("offset"));
      const data = Array.from({ length: Number(query.get("limit")) }, (_, index) =>
        madeUpThread(ada.id, offset + index),
      );
      await route.fulfill({ json: { data, total: 10_000 } });
    });
    await goTo(page, `inboxes/${ada.id}`);
    await page.locator("[data-thread]").first().waitFor();
    for (const [at, subject] of [
      [0.5, "Thread 5000"],
      [1, "Thread 9999"],
      [0, "Thread 0"],
    ] as const) {
      await page.evaluate((share) => {
        const list = document.querySelector(".virtual");
        if (list) list.scrollTop = share * (list.scrollHeight - list.clientHeight);
      }, at);
      await page.locator(".thread-subject", { hasText: new RegExp(`^${subject}$`) }).waitFor();
      expect(await page.locator(".virtual li").count()).toBeLessThanOrEqual(40);
    }
  });

  test("shows new mail at once, but moves nothing in a list that was scrolled", async () => {
    const busy = await setup.world.inbox("busy");
    for (let index = 0; index < 20; index += 1) await arrive(setup.world, busy, { subject: `Before ${index}` });
    const { page } = await signedIn(setup, `inboxes/${busy.id}`);
    await page.locator(".connection.is-stream").waitFor();
    await page.locator("[data-thread]", { hasText: "Before 19" }).waitFor();
    await arrive(setup.world, busy, { subject: "At the top" });
    await page.locator("[data-thread]", { hasText: "At the top" }).waitFor();
    await page.evaluate(() => document.querySelector(".virtual")?.scrollTo(0, 300));
    await page.waitForFunction(() => document.querySelector(".virtual")?.scrollTop === 300);
    await arrive(setup.world, busy, { subject: "While away" });
    await page.locator(".fresh-pill").waitFor();
    expect(await page.evaluate(() => document.querySelector(".virtual")?.scrollTop)).toBe(300);
    await page.locator(".fresh-pill").click();
    await page.locator("[data-thread]", { hasText: "While away" }).waitFor();
    await page.context().close();
  });

  test("counts mail that the list does not show, and shows it when the pointer leaves", async () => {
    const held = await setup.world.inbox("held");
    await arrive(setup.world, held, { subject: "Before" });
    const { page } = await signedIn(setup, `inboxes/${held.id}`);
    await page.locator(".connection.is-stream").waitFor();
    await page.locator("[data-thread]", { hasText: "Before" }).waitFor();
    await arrive(setup.world, held, { subject: "At once" });
    await page.locator("[data-thread]", { hasText: "At once" }).waitFor();
    expect(await page.locator(".fresh-pill").count()).toBe(0);
    const first = page.locator("[data-thread]").first();
    await first.hover();
    await arrive(setup.world, held, { subject: "Under the pointer" });
    await page.locator(".fresh-pill", { hasText: "1 new" }).waitFor();
    const [pill, row] = [await page.locator(".fresh-pill").boundingBox(), await first.boundingBox()];
    expect((pill?.y ?? 0) + (pill?.height ?? 0)).toBeLessThanOrEqual(row?.y ?? 0);
    await page.mouse.move(0, 0);
    await page.locator("[data-thread]", { hasText: "Under the pointer" }).waitFor();
    expect(await page.locator(".fresh-pill").count()).toBe(0);
    await page.context().close();
  });

  test("keeps the list, its position and the current row while a thread opens and closes", async () => {
    const long = await setup.world.inbox("long");
    for (let index = 0; index < 20; index += 1) await arrive(setup.world, long, { subject: `Letter ${index}` });
    const { page } = await signedIn(setup, `inboxes/${long.id}`);
    await page.locator("[data-thread]", { hasText: "Letter 19" }).waitFor();
    await page.evaluate(() => document.querySelector(".virtual")?.scrollTo(0, 300));
    await page.locator("[data-thread]", { hasText: "Letter 14" }).waitFor();
    // Answers about the thread and its inbox take their time.
    await page.route(/\/v1\/(threads|inboxes)\//, async (route) => {
      await Bun.sleep(400);
      await route.continue();
    });
    await page.evaluate(() => {
      const rows = () => document.querySelectorAll("[data-thread]").length;
      const noted = document.documentElement.dataset;
      noted.fewestRows = `${rows()}`;
      const note = () => {
        noted.fewestRows = `${Math.min(Number(noted.fewestRows), rows())}`;
      };
      new MutationObserver(note).observe(document.body, { childList: true, subtree: true });
    });
    await page.locator("[data-thread]", { hasText: "Letter 14" }).click();
    await page.locator(".conversation").waitFor();
    await page.goBack();
    await page.locator(".nothing-open").waitFor();
    expect(await page.evaluate(() => document.querySelector(".virtual")?.scrollTop)).toBe(300);
    expect(Number(await page.evaluate(() => document.documentElement.dataset.fewestRows))).toBeGreaterThan(5);
    await page.keyboard.press("j");
    await page.waitForFunction(() => document.activeElement?.textContent?.includes("Letter 13"));
    await page.context().close();
  }, 60_000);

  test("continues after a restart of the service, and counts each mail once", async () => {
    await using other = await startWorld({ database: "embedded" });
    const inbox = await other.inbox("ada");
    for (let index = 0; index < 20; index += 1) await arrive(other, inbox, { subject: `Before ${index}` });
    // The service restarts on another port, behind the same address.
    const ports = [Number(other.service.apiUrl.port)];
    const address = await startBalancer(ports);
    const { page } = await setup.browser.open(`http://127.0.0.1:${address.port}/console/inboxes/${inbox.id}`);
    await page.fill("#key", other.apiKey);
    await page.press("#key", "Enter");
    await page.locator("[data-thread]", { hasText: "Before 19" }).waitFor();
    await page.locator(".connection.is-stream").waitFor();
    await page.evaluate(() => document.querySelector(".virtual")?.scrollTo(0, 300));
    await arrive(other, inbox, { subject: "Under the old one" });
    await page.locator(".fresh-pill", { hasText: "1 new" }).waitFor();

    await other.restart();
    await arrive(other, inbox, { subject: "While the page was away" });
    ports[0] = Number(other.service.apiUrl.port);
    await page.locator(".fresh-pill", { hasText: "2 new" }).waitFor();
    await page.locator(".connection.is-stream").waitFor();
    await arrive(other, inbox, { subject: "Under the new one" });
    await page.locator(".fresh-pill", { hasText: "3 new" }).waitFor();
    await page.locator(".fresh-pill").click();
    await page.locator("[data-thread]", { hasText: "Under the new one" }).waitFor();
    const subjects = await page.locator(".thread-subject").allTextContents();
    expect(subjects.slice(0, 3)).toEqual(["Under the new one", "While the page was away", "Under the old one"]);
    await page.context().close();
    await address.close();
  }, 120_000);

  test("explains that its key was revoked, and keeps the draft", async () => {
    await using other = await startWorld({ database: "embedded" });
    const inbox = await other.inbox("ada");
    const threadId = await arrive(other, inbox, { subject: "Half" });
    const { page } = await signedIn({ browser: setup.browser, world: other }, `threads/${threadId}`);
    await page.fill("#reply", "Half an answer");
    const { body } = await other.api("/v1/account");
    await revokeKey(other.service.deps, body.key.id);
    await page.getByText("Your session has ended").waitFor();
    expect(await page.evaluate((id) => sessionStorage.getItem(`inboxd reply ${id}`), threadId)).toBe("Half an answer");
  }, 60_000);

  test("shows what became of a message, step by step", async () => {
    const id = await send(setup.world, ada, { to: "joe@example.com", subject: "Steps", body: "One by one" });
    const { page } = await signedIn(setup, `messages/${id}`);
    await page.locator(".step", { hasText: "Sent" }).waitFor();
    const steps = await page.locator(".step-name").allTextContents();
    expect(steps).toEqual(["Accepted (done)", "Attempt 1 (done)", "Sent (done)", "Delivery (not yet)"]);
    await page.getByRole("link", { name: "Sent" }).click();
    await page.waitForURL(/\/events\/evt_\w+$/);
  });
});

function madeUpThread(inboxId: string, index: number) {
  const at = new Date(Date.UTC(2026, 0, 1) - index * 60_000).toISOString();
  return {
    id: `thr_${index}`,
    threadId: `thr_${index}`,
    inboxId,
    subject: `Thread ${index}`,
    isRead: index % 3 > 0,
    messageCount: 1,
    lastMessageAt: at,
    lastMessageId: `msg_${index}`,
    createdAt: at,
    participants: ["jane@example.com"],
    preview: "Hello",
    folder: "inbox",
    labels: [],
    metadata: {},
    hasAttachments: false,
    people: [{ address: "jane@example.com", name: null }],
  };
}
