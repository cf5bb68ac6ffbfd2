import { expect, test } from "bun:test";
import { startWorld } from "../../../support/world.ts";

test("an inbox is found by its address, or by what stands before the @", async () => {
  await using world = await startWorld();
  await world.inbox("ada");
  await world.inbox("bob");
  const found = async (query: string) => (await world.api(`/v1/inboxes?${query}`)).body;
  for (const named of ["ada", "Ada@inbox.localhost"]) {
    const query = `address=${encodeURIComponent(named)}`;
    expect(await found(query)).toMatchObject({ data: [{ address: "ada@inbox.localhost" }], total: 1 });
  }
  for (const named of ["nobody", "ada@elsewhere.example", "ada@@inbox.localhost", "@inbox.localhost"]) {
    expect(await found(`address=${encodeURIComponent(named)}`)).toEqual({ data: [], total: 0, nextCursor: null });
  }
  expect(await found("address=ada&external_id=user-7")).toEqual({ data: [], total: 0, nextCursor: null });
  expect((await world.api("/v1/inboxes?address=")).body.code).toBe("invalid_query");
});

test("a token of one inbox finds no other by its address", async () => {
  await using world = await startWorld();
  const [ada, bob] = [await world.inbox("ada"), await world.inbox("bob")];
  const { body } = await world.api("/v1/tokens", { method: "POST", body: { inboxId: ada.id } });
  const found = async (address: string, apiKey: string) =>
    (await world.api(`/v1/inboxes?address=${address}`, { apiKey })).body.total;
  expect([await found("ada", body.token), await found(bob.address, body.token)]).toEqual([1, 0]);
});

test("a list of inboxes goes on after its cursor, while others are made and deleted", async () => {
  await using world = await startWorld();
  const made: string[] = [];
  for (const _ of Array.from({ length: 5 })) made.push((await world.inbox()).id);
  const listed = async (query: string) => (await world.api(`/v1/inboxes?limit=2${query}`)).body;
  const ids = ({ data }: { data: { id: string }[] }) => data.map(({ id }) => id);
  const first = await listed("");
  expect([ids(first), first.total]).toEqual([[made[4], made[3]] as string[], 5]);
  await world.inbox();
  await world.api(`/v1/inboxes/${made[3]}`, { method: "DELETE" });
  const second = await listed(`&cursor=${first.nextCursor}`);
  expect([ids(second), second.total]).toEqual([[made[2], made[1]] as string[], 5]);
  const third = await listed(`&cursor=${second.nextCursor}`);
  expect([ids(third), third.nextCursor]).toEqual([[made[0]] as string[], null]);
  for (const query of [`&cursor=${first.nextCursor}&domain=inbox.localhost`, `&cursor=${first.nextCursor}&offset=1`])
    expect((await listed(query)).code).toBe("invalid_query");
});
