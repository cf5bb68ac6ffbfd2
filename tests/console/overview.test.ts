import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { chromiumPath, startBrowser } from "../support/browser.ts";
import { startWorld } from "../support/world.ts";
import { signedIn } from "./support.ts";

describe.skipIf(chromiumPath === undefined)("The overview", () => {
  test("counts a webhook as not answering that fails, or was disabled for it, and none that somebody disabled", async () => {
    await using world = await startWorld({ env: { ALLOW_PRIVATE_WEBHOOKS: "1" } });
    await world.inbox("ada");
    await using browser = await startBrowser();
    const made = async (name: string) => {
      const body = { url: `http://127.0.0.1:65000/${name}` };
      return (await world.api("/v1/webhooks", { method: "POST", body })).body.id as string;
    };
    await made("healthy");
    const off = await made("off");
    const { page } = await signedIn(browser, world);
    const saying = async (words: string) => {
      await page.reload();
      await page.locator(".figure-note", { hasText: words }).waitFor();
      return page.locator(".figure-note.bad").count();
    };
    expect(await saying("all answer")).toBe(0);
    await world.api(`/v1/webhooks/${off}`, { method: "PATCH", body: { disabled: true } });
    expect(await saying("1 disabled by you")).toBe(0);
    const { api: db } = world.service.deps.db;
    await query(db, sql`update endpoints set failing_since = now() where url like '%/healthy'`);
    expect(await saying("1 not answering")).toBe(1);
    await made("gone");
    await query(db, sql`update endpoints set disabled_at = now(), disabled_reason = 'gone' where url like '%/gone'`);
    expect(await saying("2 not answering")).toBe(1);
  }, 60_000);
});
