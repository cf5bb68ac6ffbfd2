import { expect, test } from "bun:test";
import { describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of suppressions", () => {
  const setup = setUpConsole();

  test("adds an address by the keyboard, explains an invalid one, and removes one after a question", async () => {
    const { page, faults } = await signedIn(setup, "suppressions");
    await page.getByText("No suppressed addresses").waitFor();
    const field = page.getByLabel("Send no mail to");
    await field.fill("jane");
    await field.press("Enter");
    await page.getByText("address must be").waitFor();
    await field.fill("Jane@Example.com");
    await field.press("Enter");
    const row = page.locator(".rows .row");
    await row.getByText("jane@example.com").waitFor();
    expect(await row.textContent()).toContain("Manual");
    const listed = async () => (await setup.world.api("/v1/suppressions")).body.data.map((one: Listed) => one.address);
    expect(await listed()).toEqual(["jane@example.com"]);

    await page.getByRole("button", { name: "Bounced" }).click();
    await page.getByText("No addresses with this reason").waitFor();
    await page.getByRole("button", { name: "All" }).click();
    await page.getByRole("button", { name: "Remove jane@example.com" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("No suppressed addresses").waitFor();
    expect(await listed()).toEqual([]);
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
  });
});

interface Listed {
  address: string;
}
