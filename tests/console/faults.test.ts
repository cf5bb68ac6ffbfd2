import { expect, test } from "bun:test";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

describeInBrowser("While requests in the background fail, the console", () => {
  const setup = setUpConsole();

  test("keeps the open conversation, says what is wrong, and loads it again by itself", async () => {
    const inbox = await setup.world.inbox("ada");
    const thread = await arrive(setup.world, inbox, {
      subject: "Hello",
      text: "The first words",
      head: ["Message-ID: <first@example.com>"],
    });
    const { page } = await signedIn(setup, `threads/${thread}`);
    await page.locator(".connection.is-stream").waitFor();
    const shown = page.frameLocator(".conversation iframe");
    await shown.getByText("The first words").waitFor();
    await page.clock.install();
    const answers = "**/v1/threads/*/messages*";
    const refused = { status: 503, contentType: "application/problem+json", body: '{"code":"service_unavailable"}' };
    await page.route(answers, (route) => route.fulfill(refused));
    const isRefused = page.waitForResponse((response) => response.status() === 503);
    await arrive(setup.world, inbox, {
      subject: "Re: Hello",
      text: "The second words",
      head: ["Message-ID: <second@example.com>", "References: <first@example.com>"],
    });
    await isRefused;
    await page.locator(".conversation .fault").waitFor();
    expect(await shown.getByText("The first words").isVisible()).toBe(true);
    expect(await page.locator("#reply").count()).toBe(1);
    await page.unroute(answers);
    await page.clock.runFor(1_000);
    await page.locator(".conversation .message-head").nth(1).waitFor();
    expect(await page.locator(".fault").count()).toBe(0);
    await page.context().close();
  });
});
