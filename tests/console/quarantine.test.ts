import { expect, test } from "bun:test";
import { mailOf } from "../support/mail.ts";
import { quarantinedMail } from "../support/ruled.ts";
import { describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of the quarantine", () => {
  const setup = setUpConsole();

  test("shows why a mail was blocked, releases one, and deletes one after a question", async () => {
    const ada = await setup.world.inbox();
    const { page, faults } = await signedIn(setup, "quarantine");
    await page.getByText("No blocked mail").waitFor();
    const hostile = "<img src=x onerror=alert(1)> Buy now\r\n";
    const from = '"The Boss" <eve@blocked.example>';
    const first = await quarantinedMail(setup.world, ada, {
      raw: mailOf({ from, subject: "Cheap", messageId: "1@blocked.example", text: hostile }),
    });
    await quarantinedMail(setup.world, ada);
    await page.reload();
    const row = page.locator(".row-fold", { hasText: "Cheap" });
    await row.locator("summary").click();
    await row.getByText("A rule blocks the sender").waitFor();
    expect(await row.textContent()).toContain("<img src=x onerror=alert(1)> Buy now");
    expect(await row.locator("img").count()).toBe(0);

    await row.getByRole("button", { name: "Release" }).click();
    await page.getByText("The mail is in its inbox now").waitFor();
    await row.getByText("Released", { exact: true }).waitFor();
    const { messageId } = (await setup.world.api(`/v1/quarantine/${first}`)).body;
    expect(await row.getByRole("link", { name: "Open the message" }).getAttribute("href")).toBe(
      `/console/messages/${messageId}`,
    );

    await page.getByRole("button", { name: "Not listed" }).click();
    await page.getByText("No mail with this reason").waitFor();
    await page.getByRole("button", { name: "All" }).click();
    const other = page.locator(".row-fold", { hasText: "Buy ·" });
    await other.locator("summary").click();
    await other.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await other.waitFor({ state: "detached" });
    expect((await setup.world.api("/v1/quarantine")).body.data.map(({ id }: { id: string }) => id)).toEqual([first]);
    expect(faults.filter((fault) => !/401/.test(fault))).toEqual([]);
  });
});
