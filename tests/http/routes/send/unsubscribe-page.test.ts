import { expect, test } from "bun:test";
import { chromiumPath, startBrowser } from "../../../support/browser.ts";
import { suppressed } from "../../../support/reported.ts";
import { scriptedSmtp } from "../../../support/scripted-smtp.ts";
import { send } from "../../../support/sends.ts";
import { namesIn, signed, usual } from "../../../support/unsubscribing.ts";
import { startWorld } from "../../../support/world.ts";

test.skipIf(chromiumPath === undefined)(
  "a person unsubscribes with the button, on a page that loads nothing",
  async () => {
    const relay = await scriptedSmtp();
    const outbound = { OUTBOUND: `smtp://127.0.0.1:${relay.port}?tls=off` };
    await using world = await startWorld({ database: "embedded", env: { ...usual, ...signed, ...outbound } });
    await using browser = await startBrowser();
    const inbox = await world.inbox("news");
    await send(world, inbox.id, { unsubscribe: true }, { waits: true });
    const { token } = namesIn(relay.mails[0]?.raw ?? Buffer.of());
    for (const [colorScheme, width] of [
      ["dark", 360],
      ["light", 1400],
    ] as const) {
      const { page, faults, requested } = await browser.open(new URL(`/u/${token}`, world.service.apiUrl), {
        colorScheme,
        width,
      });
      expect(await page.locator("p").textContent()).toContain("news@inbox.localhost");
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(background).toBe(colorScheme === "dark" ? "rgb(13, 17, 23)" : "rgb(246, 248, 250)");
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
      await page.getByRole("button", { name: "Unsubscribe" }).click();
      await page.getByRole("heading", { name: "You are unsubscribed" }).waitFor();
      expect(faults).toEqual([]);
      expect(new Set(requested.map(({ pathname }) => pathname))).toEqual(new Set([`/u/${token}`]));
    }
    expect(await suppressed(world)).toMatchObject([{ address: "jane@example.com", inboxId: inbox.id }]);
    await relay.close();
  },
  60_000,
);
