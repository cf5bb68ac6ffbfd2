import { expect, test } from "bun:test";
import { authenticationOf, takeIn } from "../support/arrivals.ts";
import { pageFaults } from "./page-faults.ts";
import { describeInBrowser, goTo, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("The verdict about the sender of a mail", () => {
  const setup = setUpConsole();

  test("stands beside the mail in words, with its reasons, and on the page of the message", async () => {
    const { world } = setup;
    const inbox = await world.inbox();
    const forged = {
      verdict: "fail",
      domain: "bank.example",
      dkim: [{ result: "pass", domain: "evil.example", selector: "s1", aligned: false }],
      dmarc: { result: "fail", policy: "reject" },
    } as const;
    const authentications = [
      authenticationOf(),
      authenticationOf({ ...forged, dkim: [...forged.dkim] }),
      authenticationOf({ verdict: "none" }),
      authenticationOf({ verdict: "temperror" }),
      authenticationOf({ internal: true, domain: null }),
      undefined,
    ];
    for (const authentication of authentications) {
      await takeIn(world.service.deps, inbox, [{ inReplyTo: ["first@example.com"] }], authentication);
    }
    const { data } = (await world.api(`/v1/inboxes/${inbox.id}/messages`)).body;
    const { page, faults } = await signedIn(setup, `threads/${data[0].threadId}`);
    await page.locator(".message-fold").last().waitFor();
    for (const fold of await page.locator('.message-fold[aria-expanded="false"]').all()) await fold.click();
    const tags = page.locator(".message-to .verdict");
    expect(await tags.allTextContents()).toEqual([
      "example.com sent it",
      "bank.example does not vouch for it",
      "nothing proves that example.com sent it",
      "whether example.com sent it was not decided in time",
      "an inbox of this service sent it",
    ]);
    const reasons = await tags.nth(1).getAttribute("title");
    expect(reasons).toContain(
      "DKIM pass for evil.example, another domain than the sender’s · DMARC fail, policy reject",
    );

    await goTo(page, `messages/${data.at(-2).id}`);
    await page.getByText("bank.example does not vouch for it").waitFor();
    expect(await page.locator(".event-facts").textContent()).toContain(reasons ?? "");
    await page.getByText("by 192.0.2.9 · verdict fail").waitFor();
    await page.setViewportSize({ width: 360, height: 900 });
    expect(await pageFaults(page)).toEqual([]);
    expect(faults.filter((fault) => !/40[01]/.test(fault))).toEqual([]);
  });
});
