import { beforeAll, expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { pdfOf } from "../support/documents/pdf.ts";
import { send as sendWith } from "../support/sends.ts";
import { untilSo } from "../support/until.ts";
import type { WorldInbox } from "../support/world.ts";
import { pageFaults } from "./page-faults.ts";
import { arrive, consoleOf, describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("Mail that waits for approval, in the console", () => {
  const setup = setUpConsole({ env: { SENDS_PER_MINUTE: "0" } });
  let ada: WorldInbox;
  let agentKey: string;
  beforeAll(async () => {
    const { world } = setup;
    ada = await world.inbox("ada");
    await world.api(`/v1/inboxes/${ada.id}`, { method: "PATCH", body: { sendPolicy: "approve_new" } });
    await world.api("/v1/rules", {
      method: "POST",
      body: { direction: "outbound", action: "allow", pattern: "jane@example.com" },
    });
    agentKey = (await world.api("/v1/keys", { method: "POST", body: { access: "agent" } })).body.key;
  }, 60_000);

  async function asked(fields: object): Promise<string> {
    const { body } = await sendWith(setup.world, ada.id, fields, { apiKey: agentKey });
    expect(body.state).toBe("awaiting_approval");
    return body.messageId;
  }
  const draftOf = async (id: string) => (await setup.world.api(`/v1/drafts/${id}`)).body;

  /** Opens the line of a mail. */
  async function opened(page: Page, subject: string) {
    const row = page.locator(".row-fold", { hasText: subject });
    await row.locator("summary").click();
    await row.locator("pre").first().waitFor();
    return row;
  }

  test("is listed, shown as it would be sent, and approved", async () => {
    const { page, faults } = await signedIn(setup, "approvals");
    await page.getByText("Nothing waits for approval").waitFor();
    const threadId = await arrive(setup.world, ada, { subject: "Price", text: "How much?" });
    const id = await asked({
      to: undefined,
      subject: undefined,
      threadId,
      body: "<b>Ten</b> euros <script>alert(1)</script>",
      bodyHtml: undefined,
      cc: ["eve@example.net"],
      attachments: [{ filename: "offer.pdf", content: pdfOf([]).toString("base64") }],
    });
    // The event brings it.
    const row = await opened(page, "Re: Price");
    expect(await row.locator("dd code").allTextContents()).toEqual(["jane@example.com", "eve@example.net"]);
    expect(await row.locator("dd .tag").allTextContents()).toEqual(["new"]);
    expect(await row.locator("pre").textContent()).toMatch(/^Ten euros[\s\S]*> How much\?/);
    await row.getByText("offer.pdf").waitFor();
    await row.getByText("A recipient is new").waitFor();
    for (const width of [1400, 360]) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        expect(await pageFaults(page)).toEqual([]);
      }
    }
    await row.getByRole("button", { name: "Approve" }).click();
    await page.getByText("The mail is approved").waitFor();
    await page.getByText("Nothing waits for approval").waitFor();
    await untilSo(async () => (await draftOf(id)).state === "sent");
    expect(faults.filter((fault) => !/401/.test(fault))).toEqual([]);
    await page.context().close();
  });

  test("is rejected with a reason", async () => {
    const bodyHtml = "<p>Half the price</p>";
    const id = await asked({
      to: "joe@example.net",
      subject: "Offer",
      body: "As before",
      bodyHtml,
      fromName: "The Boss",
      replyTo: "else@example.net",
    });
    const { page } = await signedIn(setup, "approvals");
    const row = await opened(page, "Offer");
    await row.getByText("The Boss ada@inbox.localhost").waitFor();
    await row.getByText("else@example.net").waitFor();
    // Most programs show the HTML version, whose words may be others.
    expect(await row.locator("pre").allTextContents()).toEqual(["As before", bodyHtml]);
    await row.getByLabel("Reason of a rejection").fill("Not before Friday");
    await row.getByRole("button", { name: "Reject" }).click();
    await page.getByText("The mail is rejected").waitFor();
    await row.waitFor({ state: "detached" });
    expect((await draftOf(id)).approval).toMatchObject({ decision: "rejected", reason: "Not before Friday" });
    await page.context().close();
  });

  test("is decided in the version that is shown: a change meanwhile is said, and shown", async () => {
    const id = await asked({ to: "kim@example.net", subject: "Terms", body: "Old terms" });
    const { page } = await signedIn(setup, "approvals");
    const row = await opened(page, "Terms");
    // The page hears of no event, so that it still shows the version before.
    await page.route("**/v1/drafts?*", (route) => route.abort());
    const change = { method: "PATCH", apiKey: agentKey, body: { body: "New terms" } };
    expect((await setup.world.api(`/v1/drafts/${id}`, change)).body.version).toBe(2);
    expect(await row.locator("pre").textContent()).toBe("Old terms");
    await row.getByRole("button", { name: "Approve" }).click();
    await page.locator(".notice.is-bad", { hasText: "The draft has changed and has version 2 now" }).waitFor();
    expect((await draftOf(id)).state).toBe("awaiting_approval");
    await page.unrouteAll();
    await row.locator("pre", { hasText: "New terms" }).waitFor();
    await row.getByRole("button", { name: "Approve" }).click();
    await untilSo(async () => (await draftOf(id)).state === "sent");
    await page.context().close();
  });

  test("has no buttons for a key without the access “full”, is counted on the overview, and linked from the drafts", async () => {
    const id = await asked({ to: "lee@example.net", subject: "Plan" });
    const { page } = await signedIn(setup, "");
    await page.locator(".needs a", { hasText: "1 mail to approve" }).click();
    await page.getByRole("heading", { name: "Approvals" }).waitFor();
    expect(await (await opened(page, "Plan")).getByRole("button", { name: "Approve" }).count()).toBe(1);
    await goTo(page, "drafts");
    await page.locator(".row-link", { hasText: "lee@example.net" }).waitFor();
    expect(await page.getByLabel("Send to lee@example.net now").count()).toBe(0);
    await page.locator(".row-link", { hasText: "lee@example.net" }).click();
    await page.getByRole("heading", { name: "Approvals" }).waitFor();
    await page.context().close();

    const reader = (await setup.world.api("/v1/keys", { method: "POST", body: { access: "agent" } })).body.key;
    const { page: other } = await setup.browser.open(consoleOf(setup.world, "approvals"));
    await other.fill("#key", reader);
    await other.press("#key", "Enter");
    const row = await opened(other, "Plan");
    for (const name of ["Approve", "Reject"]) expect(await row.getByRole("button", { name }).count()).toBe(0);
    await other.context().close();
    await setup.world.api(`/v1/drafts/${id}`, { method: "DELETE" });
  });
});
