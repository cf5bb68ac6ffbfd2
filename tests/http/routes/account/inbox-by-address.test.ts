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
    expect(await found(`address=${encodeURIComponent(named)}`)).toEqual({ data: [], total: 0 });
  }
  expect(await found("address=ada&external_id=user-7")).toEqual({ data: [], total: 0 });
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
