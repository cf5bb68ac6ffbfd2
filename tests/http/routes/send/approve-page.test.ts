import { expect, test } from "bun:test";
import { approvalEnv, approvedInbox, boss } from "../../../support/approvals.ts";
import { chromiumPath, startBrowser } from "../../../support/browser.ts";
import { startWorld } from "../../../support/world.ts";

test.skipIf(chromiumPath === undefined)(
  "a person reads a mail and decides with a button, on a page that loads nothing and has no script",
  async () => {
    await using world = await startWorld({ database: "embedded", env: approvalEnv });
    await using browser = await startBrowser();
    const { ask } = await approvedInbox(world, []);
    const body = [
      "Dear Jane,",
      "",
      "<img src=x onerror=alert(1)> and a long word: ".concat("w".repeat(300)),
      "\u202eturned around",
      "</pre><h1>Approved</h1>",
    ].join("\n");
    const mail = {
      to: [{ address: "jane@example.com", name: "Jane Doe" }, "joe@example.net"],
      cc: [`${"long-name.".repeat(5)}end@a-long-domain-of-a-company.example.com`],
      bcc: [boss],
      subject: `Offer <b>4711</b> ${"and more ".repeat(20)}`,
      body,
      bodyFormat: "text",
      attachments: [{ filename: `offer ${"x".repeat(80)}.txt`, content: Buffer.from("offer").toString("base64") }],
    };
    for (const [colorScheme, width, decision] of [
      ["dark", 360, "Approve"],
      ["light", 1400, "Reject"],
    ] as const) {
      const id = await ask({ ...mail, subject: `${decision} ${mail.subject}` });
      const { body: link } = await world.api(`/v1/drafts/${id}/approval-link`, { method: "POST" });
      const { page, faults, requested } = await browser.open(link.url, { colorScheme, width });
      expect(await page.locator("pre").textContent()).toBe(body);
      expect(await page.locator("h1").allTextContents()).toEqual(["Approve this mail?"]);
      expect(await page.locator("img, script, b, i").count()).toBe(0);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(background).toBe(colorScheme === "dark" ? "rgb(13, 17, 23)" : "rgb(246, 248, 250)");
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/approve-${width}.png`, fullPage: true });
      if (decision === "Reject") await page.getByLabel("Reason").fill("Not this <b>customer</b>");
      await page.getByRole("button", { name: decision }).click();
      await page.getByRole("heading", { name: decision === "Approve" ? "Approved" : "Rejected" }).waitFor();
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/decided-${width}.png`, fullPage: true });
      expect(await page.locator("button").count()).toBe(0);
      if (decision === "Reject") expect(await page.locator("main").textContent()).toContain("Not this <b>customer</b>");
      expect(page.url()).toBe(link.url);
      expect(faults).toEqual([]);
      expect(new Set(requested.map(({ pathname }) => pathname))).toEqual(new Set([new URL(link.url).pathname]));
    }
  },
  60_000,
);
