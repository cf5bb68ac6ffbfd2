import { expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The overview", () => {
  const setup = setUpConsole({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });

  test("counts an endpoint as failing if it fails or was disabled for failing, but not if somebody disabled it", async () => {
    const { world } = setup;
    await world.inbox("ada");
    const made = async (name: string) => {
      const body = { url: `http://127.0.0.1:65000/${name}` };
      return (await world.api("/v1/webhooks", { method: "POST", body })).body.id as string;
    };
    await made("healthy");
    const off = await made("off");
    const { page } = await signedIn(setup);
    const badNotesWith = async (text: string) => {
      await page.reload();
      await page.locator(".figure-note", { hasText: text }).waitFor();
      return page.locator(".figure-note.bad").count();
    };
    expect(await badNotesWith("all working")).toBe(0);
    await world.api(`/v1/webhooks/${off}`, { method: "PATCH", body: { disabled: true } });
    expect(await badNotesWith("1 disabled by you")).toBe(0);
    const { api: db } = world.service.deps.db;
    await query(db, sql`update endpoints set failing_since = now() where url like '%/healthy'`);
    expect(await badNotesWith("1 failing")).toBe(1);
    await made("gone");
    await query(db, sql`update endpoints set disabled_at = now(), disabled_reason = 'gone' where url like '%/gone'`);
    expect(await badNotesWith("2 failing")).toBe(1);
  }, 60_000);
});
