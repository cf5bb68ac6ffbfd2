import { describe, expect, test } from "bun:test";
import { service } from "../../../../src/domain/access/actor.ts";
import type { Plan } from "../../../../src/domain/limits.ts";
import type { SearchWords } from "../../../../src/domain/search.ts";
import { changeAccount } from "../../../../src/flows/account/change-account.ts";
import { takeIn } from "../../../support/arrivals.ts";
import { enginesHere } from "../../../support/engines.ts";
import { newAccount } from "../../../support/sends.ts";
import { oneWorldOn } from "../../../support/world-on.ts";

for (const engine of enginesHere()) {
  describe(`The words of mail that are indexed, on ${engine}`, () => {
    const world = oneWorldOn(engine, { env: { SEARCH_WORDS: "head,enterprise=all" } });

    /** An account of its own with an inbox, and searches in both: the subjects found, and the words that were searched. */
    async function begin(plan: Plan) {
      const apiKey = await newAccount(world(), plan);
      const ask = async (path: string) => {
        const { status, body } = await world().api(path, { apiKey });
        expect([path, status]).toEqual([path, 200]);
        return [body.data.map(({ subject }: { subject: string }) => subject), body.searched];
      };
      const { id: accountId } = (await world().api("/v1/account", { apiKey })).body;
      const setAccount = (searchWords: SearchWords | null) =>
        changeAccount(world().service.deps, service, accountId, { searchWords });
      return { apiKey, ask, inbox: await inboxOf(apiKey, ask), setAccount };
    }

    async function inboxOf(apiKey: string, ask: (path: string) => Promise<unknown[]>, fields: object = {}) {
      const { body: inbox } = await world().api("/v1/inboxes", { method: "POST", body: fields, apiKey });
      return {
        id: inbox.id as string,
        take: (...subjects: string[]) =>
          takeIn(
            world().service.deps,
            inbox,
            subjects.map((subject) => ({ subject, bodyText: `The body of ${subject}` })),
          ),
        set: (searchWords: SearchWords | null) =>
          world().api(`/v1/inboxes/${inbox.id}`, { method: "PATCH", body: { searchWords }, apiKey }),
        search: (query: string) => ask(`/v1/inboxes/${inbox.id}/messages?${query}`),
      };
    }

    test("are those of the plan, and a search tells if it asks for others", async () => {
      const { inbox, ask } = await begin("developer");
      await inbox.take("Offer", "Lunch");
      expect(await inbox.search("q=body")).toEqual([[], "head"]);
      expect(await inbox.search("q=offer")).toEqual([["Offer"], "head"]);
      expect(await ask("/v1/messages?q=lunch")).toEqual([["Lunch"], "head"]);
      for (const query of [
        "subject=offer",
        "from=jane",
        "q=is:unread%20subject:offer",
        "has_attachment=false",
        "limit=2",
      ])
        expect([query, (await inbox.search(query))[1]]).toEqual([query, undefined]);
      expect(await ask("/v1/messages?q=subject:lunch")).toEqual([["Lunch"], undefined]);
      const whole = await begin("enterprise");
      await whole.inbox.take("Offer");
      expect(await whole.inbox.search("q=body")).toEqual([["Offer"], undefined]);
      expect(await whole.ask("/v1/messages?q=body")).toEqual([["Offer"], undefined]);
    });

    test("are fewer where the inbox has fewer, and a search of all inboxes tells the fewest", async () => {
      const { apiKey, ask, inbox } = await begin("enterprise");
      const [head, off] = [
        await inboxOf(apiKey, ask, { searchWords: "head" }),
        await inboxOf(apiKey, ask, { search_words: "off" }),
      ];
      await inbox.take("Whole");
      await head.take("Head");
      expect(await ask("/v1/messages?q=body")).toEqual([["Whole"], "head"]);
      await off.take("Off");
      expect(await ask("/v1/messages?q=body")).toEqual([["Whole"], "off"]);
      expect(await ask("/v1/messages?q=subject:off")).toEqual([[], "off"]);
      expect(await off.search("q=off")).toEqual([[], "off"]);
      expect(await off.search("q=is:unread")).toEqual([["Off"], undefined]);
      expect(await ask(`/v1/messages?q=body&inbox_id=${inbox.id}`)).toEqual([["Whole"], undefined]);
    });

    test("are those that the operator sets for the account, of which an inbox never has more", async () => {
      const { inbox, setAccount } = await begin("developer");
      expect((await inbox.set("all")).body.searchWords).toBe("all");
      await inbox.take("By plan");
      expect(await inbox.search("q=body")).toEqual([[], "head"]);
      await setAccount("all");
      await inbox.take("By account");
      expect(await inbox.search("q=body")).toEqual([["By account"], "head"]);
      await setAccount("off");
      await inbox.take("None");
      expect(await inbox.search("q=body")).toEqual([["By account"], "off"]);
      await setAccount(null);
      await inbox.take("By plan again");
      expect(await inbox.search("subject=again")).toEqual([["By plan again"], "off"]);
    });

    test("stay with the mail: a change holds for new mail, and is told until the last mail with fewer is removed", async () => {
      const { apiKey, inbox } = await begin("enterprise");
      await inbox.take("Before");
      expect(await inbox.search("q=body")).toEqual([["Before"], undefined]);
      expect((await inbox.set("head")).body.searchWords).toBe("head");
      await inbox.take("During");
      expect(await inbox.search("q=body")).toEqual([["Before"], "head"]);
      expect((await inbox.set(null)).body.searchWords).toBe(null);
      await inbox.take("After");
      expect(await inbox.search("q=body")).toEqual([["After", "Before"], "head"]);
      const { body: found } = await world().api(`/v1/inboxes/${inbox.id}/messages?subject=during`, { apiKey });
      await world().api(`/v1/messages/${found.data[0].id}`, { method: "DELETE", apiKey });
      expect(await inbox.search("q=body")).toEqual([["After", "Before"], undefined]);
    });

    test("are one of three, or null", async () => {
      const { inbox } = await begin("developer");
      expect(await inbox.set("body" as SearchWords)).toMatchObject({
        status: 400,
        body: { errors: [{ pointer: "#/searchWords", detail: "must be null or one of all, head, off" }] },
      });
    });
  });
}
