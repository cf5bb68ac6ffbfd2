import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../../src/database/db.ts";
import { insertUsedToken, removeUsedToken } from "../../../src/store/account/used-tokens.ts";
import { removeUsedTokens } from "../../../src/store/upkeep/pruning.ts";
import { enginesHere } from "../../support/engines.ts";
import { setUpEngine } from "../../support/set-up-engine.ts";

for (const engine of enginesHere()) {
  describe(`A token that counts once, with the ${engine} database`, () => {
    const under = setUpEngine(engine);

    test("was used by one of ten requests at once, and the others see what for", async () => {
      const validUntil = new Date("2026-03-21T10:05:00Z");
      const uses = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          insertUsedToken(under.db.api, { token: "sign_in:a", usedFor: `request ${index}`, validUntil }),
        ),
      );
      expect(uses.filter((use) => use === undefined)).toHaveLength(1);
      const first = `request ${uses.indexOf(undefined)}`;
      expect(new Set(uses)).toEqual(new Set([undefined, first]));
    });

    test("is used by one request at a time while others fail and give their use back", async () => {
      const validUntil = new Date("2026-03-21T10:05:00Z");
      const holders: string[][] = [];
      const request = async (usedFor: string) => {
        for (let attempt = 0; attempt < 100; attempt += 1) {
          const use = { token: "mailgun:a", usedFor, validUntil };
          if ((await insertUsedToken(under.db.api, use)) !== undefined) continue;
          const held = await query<{ by: string }>(
            under.db.api,
            sql`select used_for as by from used_tokens where token = ${use.token}`,
          );
          holders.push([usedFor, ...held.map(({ by }) => by)]);
          await removeUsedToken(under.db.api, use);
        }
      };
      await Promise.all(Array.from({ length: 8 }, (_, index) => request(`request ${index}`)));
      expect(holders.length).toBeGreaterThan(0);
      expect(holders.filter(([by = "", ...held]) => !Bun.deepEquals(held, [by]))).toEqual([]);
    });

    test("is forgotten once it is not valid any more", async () => {
      const use = (token: string, validUntil: string) =>
        insertUsedToken(under.db.api, { token, usedFor: "", validUntil: new Date(validUntil) });
      await use("sign_in:over", "2026-03-21T11:00:00Z");
      await use("sign_in:valid", "2026-03-21T11:00:01Z");
      await removeUsedTokens(under.db.api, new Date("2026-03-21T11:00:00Z"), 100);
      expect(await use("sign_in:over", "2026-03-21T11:00:00Z")).toBeUndefined();
      expect(await use("sign_in:valid", "2026-03-21T11:00:01Z")).toBe("");
    });
  });
}
