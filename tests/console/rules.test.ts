import { expect, test } from "bun:test";
import { untilSo } from "../support/until.ts";
import { describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of rules", () => {
  const setup = setUpConsole();

  test("adds a rule, explains an invalid pattern, filters, and removes a rule after a question", async () => {
    const { page, faults } = await signedIn(setup, "rules");
    await page.getByText("No rules", { exact: true }).waitFor();
    const field = page.getByLabel("Add a rule");
    await field.fill("spam");
    await field.press("Enter");
    await page.getByText("pattern must be").waitFor();
    await field.fill("*.Spam.example");
    await field.press("Enter");
    const row = page.locator(".rows .row");
    await row.getByText("*.spam.example").waitFor();
    expect(await row.textContent()).toContain("Blocked");
    const listed = async () =>
      (await setup.world.api("/v1/rules")).body.data.map(({ action, direction, pattern }: Listed) => [
        action,
        direction,
        pattern,
      ]);
    expect(await listed()).toEqual([["block", "inbound", "*.spam.example"]]);

    await page.getByRole("button", { name: "Outbound" }).click();
    await page.getByText("No rules in this direction").waitFor();
    await page.getByLabel("Kind of rule").selectOption("Allow mail to");
    await field.fill("boss@example.com");
    await field.press("Enter");
    await row.getByText("boss@example.com").waitFor();
    expect(await listed()).toContainEqual(["allow", "outbound", "boss@example.com"]);
    await page.getByRole("button", { name: "Inbound" }).click();
    await page.getByRole("button", { name: "Remove the rule for *.spam.example" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("No rules in this direction").waitFor();
    expect(await listed()).toEqual([["allow", "outbound", "boss@example.com"]]);
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
  });

  test("saves the policy of the account, and gives an inbox one of its own and takes it back", async () => {
    const ada = await setup.world.inbox("ada");
    const { page, faults } = await signedIn(setup, "rules");
    const policy = async (path: string) => (await setup.world.api(path)).body;
    await page.getByLabel("Mail that its domain disowns").selectOption("honour");
    await page.getByLabel("Mail is sent").selectOption("known");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The policy is saved").waitFor();
    expect((await policy("/v1/policy")).inbound).toMatchObject({ dmarc: "honour", unlisted: "accept" });
    expect((await policy("/v1/account")).sendPolicy).toBe("known");
    await page.getByLabel("Mail is sent").selectOption({ label: "to new recipients once a person approves" });
    await page.getByRole("button", { name: "Save" }).click();
    await untilSo(async () => (await policy("/v1/account")).sendPolicy === "approve_new");

    await goTo(page, `rules?inbox=${ada.id}`);
    await page.getByText(`Only for ${ada.address}`).waitFor();
    await page.getByText("It is that of the account.").waitFor();
    await page.getByLabel("Mail that no rule allows").selectOption("replies");
    await page.getByRole("button", { name: "Save" }).click();
    const inherit = page.getByRole("button", { name: "Use the policy of the account" });
    await inherit.waitFor();
    const own = await policy(`/v1/inboxes/${ada.id}/policy`);
    expect(own).toMatchObject({ inherited: null, inbound: { dmarc: "honour", unlisted: "replies" } });
    await inherit.click();
    await page.getByText("It is that of the account.").waitFor();
    expect((await policy(`/v1/inboxes/${ada.id}/policy`)).inherited).toBe("account");
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
  });

  test("keeps what is chosen while the saved policy is loaded", async () => {
    const { page } = await signedIn(setup, "rules");
    const sent = page.getByLabel("Mail is sent");
    await sent.selectOption("closed");
    const { promise: isChosen, resolve: chosen } = Promise.withResolvers<void>();
    await page.route("**/v1/account", async (route) => {
      if (route.request().method() === "GET") await isChosen;
      await route.continue();
    });
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The policy is saved").waitFor();
    await sent.selectOption("approve_all");
    const loaded = page.waitForResponse((answer) => answer.url().endsWith("/v1/account") && answer.ok());
    chosen();
    await (await loaded).finished();
    await page.getByRole("button", { name: "Save" }).click();
    await untilSo(async () => (await setup.world.api("/v1/account")).body.sendPolicy === "approve_all", 5_000);
    expect(await sent.inputValue()).toBe("approve_all");
  });
});

interface Listed {
  action: string;
  direction: string;
  pattern: string;
}
