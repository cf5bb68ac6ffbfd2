import { describe, expect, test } from "bun:test";
import { wholeAccount } from "../../../src/domain/access/access.ts";
import { service } from "../../../src/domain/access/actor.ts";
import { Refusal } from "../../../src/domain/errors.ts";
import { createInbox } from "../../../src/flows/account/create-inbox.ts";
import { deleteInbox } from "../../../src/flows/account/delete-inbox.ts";
import { createAccount } from "../../../src/flows/account/manage-accounts.ts";
import { enginesHere } from "../../support/engines.ts";
import { countRows } from "../../support/stored.ts";
import { oneWorldOn } from "../../support/world-on.ts";

const day = 86_400_000;

for (const engine of enginesHere()) {
  describe(`creating an inbox (${engine})`, () => {
    const world = oneWorldOn(engine, { env: { INBOXES_PER_DAY: "20" } });
    const deps = () => world().service.deps;
    let accounts = 0;

    /** A new account, and a function that creates its inboxes. */
    async function newAccount() {
      accounts += 1;
      const { account } = await createAccount(deps(), { name: `account ${accounts}`, plan: "developer" });
      return {
        id: account.id,
        make: (username?: string, idempotencyKey?: string, externalId?: string) =>
          createInbox(deps(), {
            account: wholeAccount(account, "key"),
            actor: service,
            externalId,
            username,
            idempotencyKey,
          }),
      };
    }

    async function reasonOf(work: Promise<unknown>): Promise<string> {
      try {
        await work;
        return "none";
      } catch (error) {
        if (error instanceof Refusal) return error.reason;
        throw error;
      }
    }

    test("gives it the requested name, or a random one", async () => {
      const { make, id } = await newAccount();
      const { inbox, replayed } = await make("Chosen", undefined, "user-7");
      expect(inbox).toMatchObject({
        accountId: id,
        username: "chosen",
        externalId: "user-7",
        createdAt: world().clock.now(),
      });
      expect(replayed).toBe(false);
      expect((await make()).inbox.username).toMatch(/^[a-z][a-z2-9]{9}$/);
    });

    test("gives a name to one of 20 requests at the same time", async () => {
      const askers = await Promise.all([newAccount(), newAccount()]);
      const reasons = await Promise.all(
        Array.from({ length: 20 }, (_, index) => reasonOf(askers[index % 2]?.make("wanted") ?? Promise.reject())),
      );
      expect(reasons.toSorted()).toEqual([...Array(19).fill("address_taken"), "none"]);
    });

    test("stops at the account's limit of a day, also for 50 at the same time", async () => {
      const { make } = await newAccount();
      const reasons = await Promise.all(Array.from({ length: 50 }, () => reasonOf(make())));
      expect(reasons.filter((reason) => reason === "none")).toHaveLength(20);
      expect(reasons.filter((reason) => reason === "inbox_creation_limit")).toHaveLength(30);
      world().clock.pass(day);
      expect(await reasonOf(make())).toBe("none");
    });

    test("a refused request reserves no name and does not count towards a limit", async () => {
      const { make } = await newAccount();
      const { make: other } = await newAccount();
      for (let count = 0; count < 20; count += 1) await make();
      expect(await reasonOf(make("spared"))).toBe("inbox_creation_limit");
      expect(await reasonOf(other("spared"))).toBe("none");
      for (let count = 0; count < 30; count += 1) expect(await reasonOf(other("spared"))).toBe("address_taken");
      expect(await reasonOf(other())).toBe("none");
    });

    describe("under an Idempotency-Key", () => {
      test("the same request returns the same inbox, above any limit", async () => {
        const { make } = await newAccount();
        const first = await make(undefined, "key");
        for (let count = 0; count < 19; count += 1) await make();
        expect(await make(undefined, "key")).toEqual({ inbox: first.inbox, replayed: true });
      });

      test("ten at once make one", async () => {
        const { make } = await newAccount();
        const before = await countRows(deps().db.api, "inboxes");
        const made = await Promise.all(Array.from({ length: 10 }, () => make(undefined, "key")));
        expect(new Set(made.map(({ inbox }) => inbox.id)).size).toBe(1);
        expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
        expect(await countRows(deps().db.api, "inboxes")).toBe(before + 1);
      });

      test("another request is refused, and another account may use the same key", async () => {
        const { make } = await newAccount();
        await make("keyed", "key");
        expect(await reasonOf(make("another", "key"))).toBe("idempotency_key_reused");
        const { make: other } = await newAccount();
        expect((await other("another", "key")).replayed).toBe(false);
      });

      test("a refused request leaves the key free", async () => {
        const { make } = await newAccount();
        await make("held");
        expect(await reasonOf(make("held", "key"))).toBe("address_taken");
        expect((await make("free.name", "key")).inbox.username).toBe("free.name");
      });

      test("the key is deleted after a day", async () => {
        const { make } = await newAccount();
        const first = await make(undefined, "key");
        world().clock.pass(day);
        expect((await make(undefined, "key")).inbox.id).not.toBe(first.inbox.id);
      });
    });

    describe("the name of a deleted inbox", () => {
      test("is reserved for 30 days, then free", async () => {
        const { make, id } = await newAccount();
        const { make: other } = await newAccount();
        const { inbox } = await make("departed");
        expect(await deleteInbox(deps(), { accountId: id, actor: service }, inbox.id)).toEqual({
          username: "departed",
        });
        world().clock.pass(30 * day - 1);
        expect(await reasonOf(other("departed"))).toBe("address_taken");
        world().clock.pass(1);
        const reborn = await other("departed");
        expect(reborn.inbox.id).not.toBe(inbox.id);
      });
    });
  });
}
