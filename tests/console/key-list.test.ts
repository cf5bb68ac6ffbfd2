import { expect, test } from "bun:test";
import { connecting } from "../support/connecting.ts";
import { describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The screen of keys", () => {
  const setup = setUpConsole();

  test("shows each key with its reach, and revokes one after a question", async () => {
    const order = { name: "support agent", access: "agent", externalId: "tenant-7", allowedIps: ["192.0.2.0/24"] };
    const { body: made } = await setup.world.api("/v1/keys", { method: "POST", body: order });
    const { page, faults } = await signedIn(setup, "keys");
    const row = page.locator(".rows .row").first();
    await row.getByText("support agent").waitFor();
    const text = await row.textContent();
    for (const shown of [`${made.prefix}…${made.lastFour}`, "agent", "tenant tenant-7", "192.0.2.0/24", "never used"])
      expect(text).toContain(shown);
    await page.getByText("/v1/keys/KEY_ID/rotate").waitFor();

    await page.getByRole("button", { name: "Revoke support agent" }).click();
    await page.getByRole("button", { name: "Revoke key" }).click();
    await row.getByText("revoked", { exact: true }).waitFor();
    expect((await setup.world.api(`/v1/keys/${made.id}`)).body.revokedAt).not.toBeNull();
    expect(faults.filter((fault) => !/401/.test(fault))).toEqual([]);
  });

  test("lists the programs that people have connected, and disconnects one after a question", async () => {
    const by = await connecting(setup.world);
    const { body: tokens } = await by.redeem(await by.code({ access: "read" }));
    const { page } = await signedIn(setup, "keys");
    const row = page.locator(".section .row", { hasText: "Test program" });
    await row.getByText("127.0.0.1:7777 · read · the whole account").waitFor();
    await page.getByRole("button", { name: "Disconnect Test program" }).click();
    await page.getByRole("button", { name: "Disconnect", exact: true }).click();
    await row.waitFor({ state: "detached" });
    expect((await by.refresh(tokens.refresh_token ?? "")).status).toBe(400);
  });

  test("lets a tenant's key manage its keys, and explains why the last key of the account stays", async () => {
    const order = { name: "tenant's own", access: "full", externalId: "it's" };
    const { body: made } = await setup.world.api("/v1/keys", { method: "POST", body: order });
    const { page } = await signedIn({ ...setup, world: { ...setup.world, apiKey: made.key } }, "keys");
    await page.locator(".rows .row", { hasText: "tenant's own" }).waitFor();
    expect(await page.locator(".rows .row").count()).toBe(1);
    await page.getByText(`--external-id 'it'\\''s'`).waitFor();

    const whole = await signedIn(setup, "keys");
    await whole.page
      .locator(".rows .row")
      .last()
      .getByRole("button", { name: /^Revoke/ })
      .click();
    await whole.page.getByText("this session ends too").waitFor();
    await whole.page.getByRole("button", { name: "Revoke key" }).click();
    await whole.page.locator(".notice.is-bad", { hasText: "the last key that manages the account" }).waitFor();
    expect((await setup.world.api("/v1/account")).status).toBe(200);
  });
});
