import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { newAccount, send } from "../../../support/sends.ts";
import type { WorldInbox } from "../../../support/world.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

interface Answer {
  status: number;
  body: { data: { subject: string; inboxId: string; id: string; createdAt: string }[]; total: number; code?: string };
}

for (const engine of enginesHere()) {
  describe(`Search of an account on ${engine}`, () => {
    const world = oneWorldOn(engine, { env: { SENDS_PER_MINUTE: "0" } });
    /** An account of its own with two inboxes, and the search in it. */
    async function account() {
      const apiKey = await newAccount(world());
      const inbox = async (): Promise<WorldInbox> =>
        (await world().api("/v1/inboxes", { method: "POST", body: {}, apiKey })).body;
      const search = (query: Record<string, string> = {}, key = apiKey) =>
        world().api(`/v1/messages?${new URLSearchParams(query)}`, { apiKey: key });
      return { apiKey, ada: await inbox(), bob: await inbox(), search };
    }
    const take = (inbox: WorldInbox, ...subjects: string[]) =>
      takeIn(
        world().service.deps,
        inbox,
        subjects.map((subject) => ({ subject })),
      );
    const subjects = ({ body }: Answer) => body.data.map(({ subject }) => subject);

    test("finds the messages of all inboxes, newest first, each with its inbox", async () => {
      const { apiKey, ada, bob, search } = await account();
      for (const [inbox, subject] of [
        [ada, "Invoice one"],
        [bob, "Invoice two"],
        [bob, "Lunch"],
        [ada, "Invoice three"],
      ] as const) {
        await take(inbox, subject);
        world().clock.pass(60_000);
      }
      await send(world(), bob.id, { to: "carol@example.net", subject: "Offer", body: "An invoice" }, { apiKey });
      const all = await search();
      expect([all.body.total, subjects(all)]).toEqual([
        5,
        ["Offer", "Invoice three", "Lunch", "Invoice two", "Invoice one"],
      ]);
      expect(all.body.data.map(({ inboxId }: { inboxId: string }) => inboxId)).toEqual(
        [bob, ada, bob, bob, ada].map(({ id }) => id),
      );
      const second = all.body.data[3].createdAt;
      for (const [query, found] of [
        [{ q: "invoice" }, ["Offer", "Invoice three", "Invoice two", "Invoice one"]],
        [{ q: "subject:invoice -three" }, ["Invoice two", "Invoice one"]],
        [{ q: "to:carol@example.net" }, ["Offer"]],
        [{ q: "is:unread" }, ["Invoice three", "Lunch", "Invoice two", "Invoice one"]],
        [{ q: "-is:unread" }, ["Offer"]],
        [{ q: "has:attachment" }, []],
        [{ q: `after:${second}` }, ["Offer", "Invoice three", "Lunch", "Invoice two"]],
        [{ q: `before:${second}` }, ["Invoice one"]],
        [{ q: "before:1969-01-01" }, []],
        [{ direction: "outbound" }, ["Offer"]],
        [{ q: "invoice", direction: "inbound" }, ["Invoice three", "Invoice two", "Invoice one"]],
        [{ inbox_id: ada.id }, ["Invoice three", "Invoice one"]],
        [{ inboxId: bob.id, q: "invoice" }, ["Offer", "Invoice two"]],
        [{ inbox_id: bob.id, q: "is:unread", direction: "outbound" }, []],
      ] as const) {
        const answer = await search(query as Record<string, string>);
        expect([query, answer.status, subjects(answer), answer.body.total, answer.body.nextCursor]).toEqual([
          query,
          200,
          [...found],
          found.length,
          null,
        ]);
      }
    });

    test("pages by cursor without a gap or a double, while mail arrives and many are of one instant", async () => {
      const { ada, bob, search } = await account();
      const numbers = Array.from({ length: 12 }, (_, index) => `number ${index}`);
      await take(ada, ...numbers);
      await take(bob, ...numbers, "noise");
      world().clock.pass(5);
      await take(ada, ...numbers);
      const whole = (await search({ q: "number", limit: "100" })).body.data;
      expect(whole).toHaveLength(36);
      const key = ({ createdAt, id }: { createdAt: string; id: string }) => `${createdAt} ${id}`;
      expect(whole.map(key)).toEqual(whole.map(key).toSorted().toReversed());
      const seen: { id: string }[] = [];
      let cursor: string | null = null;
      do {
        const { body } = await search({ q: "number", limit: "7", ...(cursor !== null && { cursor }) });
        seen.push(...body.data);
        await take(bob, "a number that comes late");
        cursor = body.nextCursor;
      } while (cursor !== null);
      expect(seen.map(({ id }) => id)).toEqual(whole.map(({ id }: { id: string }) => id));
      const { nextCursor } = (await search({ q: "number", limit: "7" })).body;
      for (const query of [{ q: "noise" }, { q: "number", direction: "inbound" }, { q: "number", inbox_id: ada.id }]) {
        const { status, body } = await search({ ...query, cursor: nextCursor } as Record<string, string>);
        expect([query, status, body.code]).toEqual([query, 400, "invalid_query"]);
      }
    });

    test("finds a mail as soon as it is there, in each inbox", async () => {
      const { ada, bob, search } = await account();
      for (let round = 1; round <= 10; round++) {
        await take(round % 2 ? ada : bob, `word${round} every`);
        expect(subjects(await search({ q: `word${round}` }))).toEqual([`word${round} every`]);
        expect((await search({ q: "every" })).body.total).toBe(round);
      }
    });

    test("answers any search, however strange, with its messages or with what is wrong", async () => {
      const { ada, search } = await account();
      await take(ada, "Invoice one");
      const words = "or OR a invoice ß 会議 \u202e 😀 - -- \" ' \\ :* & | ! <-> ( ) /in $1 % '::tsquery";
      const filters =
        'from: to: subject: has: has:attachment is: is:unread -is:unread before: after: from:or from:-a from:"';
      const instants = "2026-03-21 9999-99-99 before:2026-03-21T10:00:00Z";
      const piece = fc.constantFrom(...`${words} ${filters} ${instants}`.split(" "));
      const strange = fc.array(fc.tuple(piece, fc.constantFrom("", " ")), { minLength: 1, maxLength: 60 });
      const statuses = new Set<number>();
      await fc.assert(
        fc.asyncProperty(strange, async (pieces) => {
          const q = pieces.flat().join("");
          const { status, body } = await search({ q });
          expect([q, status === 200 || body.code === "invalid_query"]).toEqual([q, true]);
          const inInbox = await search({ q, inbox_id: ada.id });
          expect([q, inInbox.status]).toEqual([q, status]);
          if (status === 200) expect([q, inInbox.body.total]).toEqual([q, body.total]);
          statuses.add(status);
        }),
        { numRuns: 300 },
      );
      expect(statuses).toEqual(new Set([200, 400]));
    }, 60_000);

    test("has nothing of another account, and nothing of an inbox that was deleted", async () => {
      const mine = await account();
      const other = await account();
      await take(mine.ada, "Invoice of mine");
      await take(mine.bob, "Invoice that goes");
      await take(other.ada, "Invoice of another");
      expect(subjects(await mine.search({ q: "invoice" }))).toEqual(["Invoice that goes", "Invoice of mine"]);
      await world().api(`/v1/inboxes/${mine.bob.id}`, { method: "DELETE", apiKey: mine.apiKey });
      const left = await mine.search({ q: "invoice" });
      expect([subjects(left), left.body.total]).toEqual([["Invoice of mine"], 1]);
      expect(subjects(await mine.search({ q: "is:unread" }))).toEqual(["Invoice of mine"]);
      expect((await mine.search({ inbox_id: other.ada.id })).body).toMatchObject({
        code: "not_found",
        resource: "inbox",
      });
      expect((await mine.search({ inbox_id: mine.bob.id })).status).toBe(404);
    });

    test("of a token reaches as far as the token", async () => {
      const { apiKey, ada, bob, search } = await account();
      await take(ada, "Invoice to Ada");
      await take(bob, "Invoice to Bob");
      const token = async (body: object) =>
        (await world().api("/v1/tokens", { method: "POST", body, apiKey })).body.token as string;
      const [all, one] = [await token({}), await token({ inboxId: ada.id })];
      for (const query of [{}, { q: "invoice" }] as Record<string, string>[]) {
        expect(subjects(await search(query, all))).toEqual(["Invoice to Bob", "Invoice to Ada"]);
        expect(subjects(await search(query, one))).toEqual(["Invoice to Ada"]);
        expect(subjects(await search({ ...query, inbox_id: ada.id }, one))).toEqual(["Invoice to Ada"]);
        expect((await search({ ...query, inbox_id: bob.id }, one)).body).toMatchObject({ code: "not_found" });
        expect((await search(query, `${one}x`)).body).toMatchObject({ code: "unauthorized" });
      }
    });

    test.each([
      ["q=is:starred", "q"],
      [`q=${"a".repeat(501)}`, "q"],
      ["limit=101", "limit"],
      ["offset=1", "offset"],
      ["direction=up", "direction"],
      ["cursor=x", "cursor"],
      ["thread_id=thr_1", "thread_id"],
    ])("of ?%.30s is refused by the name of the parameter", async (query, name) => {
      const { status, body } = await world().api(`/v1/messages?${query}`);
      expect([status, body.code, body.errors[0].parameter]).toEqual([400, "invalid_query", name]);
    });
  });
}
