import { expect, test } from "bun:test";
import { untilAnswered } from "../support/until.ts";
import { arrive, describeInBrowser, setUpConsole, signedIn } from "./support.ts";

interface Listed {
  subject: string;
  isRead: boolean;
}

describeInBrowser("Threads filed in the console", () => {
  const setup = setUpConsole();
  const listed = async (inboxId: string, asked: string) => {
    const { body } = await setup.world.api(`/v1/inboxes/${inboxId}/threads?${asked}`);
    return body.data.map(({ subject, isRead }: Listed) => `${subject} ${isRead ? "read" : "unread"}`).toSorted();
  };
  const untilListed = (inboxId: string, asked: string, expected: string[]) =>
    untilAnswered(async () => (Bun.deepEquals(await listed(inboxId, asked), expected) ? true : undefined));

  test("leave the list, are found in their folder, and come back by Undo as they were", async () => {
    const ada = await setup.world.inbox("ada");
    const ids = [];
    for (const subject of ["One", "Two", "Three"]) ids.push(await arrive(setup.world, ada, { subject }));
    await setup.world.api(`/v1/threads/${ids[1]}`, { method: "PATCH", body: { is_read: true } });
    const { page } = await signedIn(setup, `inboxes/${ada.id}`);
    for (const subject of ["One", "Two"]) await page.getByLabel(`Select ${subject}`).check();
    await page.getByRole("button", { name: "Archive" }).click();
    await page.getByText("2 threads archived").waitFor();
    await page.locator("[data-thread]", { hasText: "Two" }).waitFor({ state: "detached" });
    expect(await page.locator("[data-thread]").count()).toBe(1);
    expect(await listed(ada.id, "folder=archive")).toEqual(["One read", "Two read"]);
    await page.getByRole("button", { name: "Undo" }).click();
    await page.locator("[data-thread]").nth(2).waitFor();
    await untilListed(ada.id, "folder=inbox", ["One unread", "Three unread", "Two read"]);

    await page.getByLabel("Select Three").check();
    await page.getByRole("button", { name: "Trash" }).click();
    await page.getByText("1 thread moved to the trash").waitFor();
    await page.getByRole("link", { name: "Trash" }).click();
    await page.locator("[data-thread]", { hasText: "Three" }).waitFor();
    await page.getByLabel("Select Three").check();
    await page.getByRole("button", { name: "To inbox" }).click();
    await page.getByText("No threads here").waitFor();
    expect(await listed(ada.id, "folder=trash")).toEqual([]);
  });

  test("stay in the inbox if mail arrived that was not seen", async () => {
    const ada = await setup.world.inbox("newer");
    await arrive(setup.world, ada, { subject: "Seen", head: ["Message-ID: <1@newer>"] });
    const { page } = await signedIn(setup, `inboxes/${ada.id}`);
    await page.getByLabel("Select Seen").check();
    await arrive(setup.world, ada, { subject: "Re: Seen", head: ["In-Reply-To: <1@newer>"] });
    await page.getByRole("button", { name: "Archive" }).click();
    await page.getByText("1 thread stays in the inbox because newer mail has arrived").waitFor();
    expect(await listed(ada.id, "folder=inbox")).toEqual(["Seen unread"]);
  });

  test("are labelled, listed by their label, and unlabelled", async () => {
    const ada = await setup.world.inbox("labels");
    const id = await arrive(setup.world, ada, { subject: "Order" });
    await arrive(setup.world, ada, { subject: "Other" });
    const { page } = await signedIn(setup, `threads/${id}`);
    await page.locator(".conversation").getByLabel("Add a label").fill("Orders");
    await page.keyboard.press("Enter");
    await page.locator(".conversation .thread-label", { hasText: "orders" }).waitFor();
    await page.locator(".threads .thread-label", { hasText: "orders" }).waitFor();
    await page.getByLabel("Label", { exact: true }).selectOption("orders");
    await page.locator("[data-thread]", { hasText: "Other" }).waitFor({ state: "detached" });
    expect(await listed(ada.id, "label=orders")).toEqual(["Order unread"]);
    await page.locator("[data-thread]", { hasText: "Order" }).click();
    await page.getByRole("button", { name: "Remove the label orders" }).click();
    await page.locator(".conversation .thread-label").waitFor({ state: "detached" });
    await untilListed(ada.id, "label=orders", []);
    await page.locator(".conversation").hover();
    await page.keyboard.press("e");
    await page.getByText("1 thread archived").waitFor();
    await page.locator(".conversation-title", { hasText: "archive" }).waitFor();
    expect(await listed(ada.id, "folder=archive")).toEqual(["Order read"]);
  });
});
