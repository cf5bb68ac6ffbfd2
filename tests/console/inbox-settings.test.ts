import { expect, test } from "bun:test";
import { untilSo } from "../support/until.ts";
import { describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The settings of an inbox", () => {
  const setup = setUpConsole();
  const inboxOf = async (id: string) => (await setup.world.api(`/v1/inboxes/${id}`)).body;

  test("are opened from its mail, saved, explained if they are wrong, and cleared", async () => {
    const ada = await setup.world.inbox("ada");
    await setup.world.api(`/v1/inboxes/${ada.id}`, { method: "PATCH", body: { metadata: { old: "x", plan: "gold" } } });
    const { page, faults } = await signedIn(setup, `inboxes/${ada.id}`);
    await page.getByRole("link", { name: `Settings of ${ada.address}` }).click();
    await page.getByLabel("Name beside the address").fill("ceo@bank.example");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("displayName must be").waitFor();
    await page.getByLabel("Name beside the address").fill("Ada Lovelace");
    await page.getByLabel("Days that mail is kept").fill("30");
    await page.getByLabel("Words of new mail").selectOption({ label: "subject and addresses" });
    await page.getByLabel("Is deleted at").fill("2031-05-01T12:30");
    await page.getByLabel("Metadata").fill("plan=silver\nterm=a=b");
    await page.getByLabel("Approvers of its mail").fill("boss@example.org, cfo@example.org");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("The settings are saved").waitFor();
    const saved = await inboxOf(ada.id);
    expect(saved).toMatchObject({
      displayName: "Ada Lovelace",
      retentionDays: 30,
      metadata: { plan: "silver", term: "a=b" },
      approvers: ["boss@example.org", "cfo@example.org"],
      searchWords: "head",
    });
    expect(saved.metadata.old).toBeUndefined();
    expect(saved.expiresAt).toStartWith("2031-05-01T");
    await page.reload();
    // A field that another one changes meanwhile stays.
    await setup.world.api(`/v1/inboxes/${ada.id}`, { method: "PATCH", body: { externalId: "user-7" } });
    const labels = ["Name beside the address", "Days that mail is kept", "Is deleted at", "Metadata", "Approvers"];
    for (const name of labels) await page.getByLabel(name).fill("");
    await page.getByLabel("Words of new mail").selectOption({ label: "as in the account" });
    await page.getByRole("button", { name: "Save" }).click();
    const none = { displayName: null, retentionDays: null, expiresAt: null, approvers: null, searchWords: null };
    await untilSo(async () => (await inboxOf(ada.id)).displayName === null);
    expect(await inboxOf(ada.id)).toMatchObject({ ...none, metadata: {}, externalId: "user-7" });
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
  });

  test("have its aliases, and disable, enable and delete it after a question", async () => {
    const bob = await setup.world.inbox("bob");
    const { page, faults } = await signedIn(setup, `inboxes/${bob.id}/settings`);
    const field = page.getByLabel("Add an alias");
    await field.fill("ab");
    await field.press("Enter");
    await page.getByText("must be 3 to 30").waitFor();
    await field.fill("robert");
    await field.press("Enter");
    await page.locator(".rows .row").getByText("robert@inbox.localhost").waitFor();
    expect((await inboxOf(bob.id)).aliases).toEqual(["robert@inbox.localhost"]);
    await page.getByRole("button", { name: "Remove robert@inbox.localhost" }).click();
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.locator(".rows .row").waitFor({ state: "detached" });
    expect((await inboxOf(bob.id)).aliases).toEqual([]);

    await page.getByRole("button", { name: "Disable" }).click();
    await page.getByRole("button", { name: "Disable inbox" }).click();
    await page.getByRole("button", { name: "Enable" }).waitFor();
    expect((await inboxOf(bob.id)).disabled).toBe(true);
    await goTo(page, "inboxes");
    await page.locator(".row", { hasText: bob.address }).getByText("disabled").waitFor();
    await goTo(page, `inboxes/${bob.id}/settings`);
    await page.getByRole("button", { name: "Enable" }).click();
    await page.getByRole("button", { name: "Disable" }).waitFor();
    expect((await inboxOf(bob.id)).disabled).toBe(false);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete inbox" }).click();
    await page.getByText(`${bob.address} is deleted`).waitFor();
    expect((await setup.world.api(`/v1/inboxes/${bob.id}`)).status).toBe(404);
    await goTo(page, `inboxes/${bob.id}/settings`);
    await page.getByText("Inbox not found").waitFor();
    expect(faults.filter((fault) => !/40[0134]/.test(fault))).toEqual([]);
  });
});
