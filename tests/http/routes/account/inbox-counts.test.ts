import { expect, test } from "bun:test";
import { mailOf } from "../../../support/mail.ts";
import { send } from "../../../support/sends.ts";
import { startWorld } from "../../../support/world.ts";

test("an inbox shows how many of its threads are unread, and when its last message came or went", async () => {
  await using world = await startWorld();
  const [ada, bob] = [await world.inbox("ada"), await world.inbox("bob")];
  const shown = async () => {
    const { body } = await world.api(`/v1/inboxes/${ada.id}`);
    const listed = (await world.api("/v1/inboxes")).body.data.find(({ id }: { id: string }) => id === ada.id);
    expect(listed).toEqual(body);
    return [body.unreadThreads, body.lastMessageAt];
  };
  expect(await shown()).toEqual([0, null]);
  const mail = (id: string, reply = "") =>
    mailOf({
      headers: [`Message-ID: <${id}@x.example>`, ...(reply === "" ? [] : [`In-Reply-To: <${reply}@x.example>`])],
    });
  await world.deliver(mail("one"), ada.address);
  const { body } = await world.api(`/v1/inboxes/${ada.id}/messages`);
  expect(await shown()).toEqual([1, body.data[0].createdAt]);
  await world.deliver(mail("two", "one"), ada.address);
  expect((await shown())[0]).toBe(1);
  await world.deliver(mail("three"), ada.address);
  expect((await shown())[0]).toBe(2);
  await world.api(`/v1/threads/${body.data[0].threadId}`, { method: "PATCH", body: { is_read: true } });
  expect((await shown())[0]).toBe(1);
  world.clock.pass(60_000);
  await send(world, ada.id, { to: "jane@example.com" });
  expect(await shown()).toEqual([1, world.clock.now().toISOString()]);
  const { body: other } = await world.api(`/v1/inboxes/${bob.id}`);
  expect([other.unreadThreads, other.lastMessageAt]).toEqual([0, null]);
});

test("a repeated request to make an inbox shows it as it is by then", async () => {
  await using world = await startWorld();
  const create = () =>
    world.api("/v1/inboxes", { method: "POST", headers: { "idempotency-key": "once" }, body: { username: "ada" } });
  const { body: made } = await create();
  expect([made.unreadThreads, made.lastMessageAt]).toEqual([0, null]);
  await world.deliver(mailOf({}), made.address);
  const { body: again } = await create();
  expect([again.id, again.unreadThreads]).toEqual([made.id, 1]);
});
