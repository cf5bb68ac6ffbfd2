import { describe, expect, test } from "bun:test";
import { sql } from "drizzle-orm";
import { query } from "../../src/database/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { enginesHere, openEngine } from "../support/engines.ts";

describe.each(enginesHere())("how bytes lie in the database (%s)", (engine) => {
  test("compressed files are not compressed again, and text takes the cheap compression where there is one", async () => {
    const { db, remove } = await openEngine(engine);
    try {
      await migrate(db);
      const [stored] = await query(
        db.api,
        sql`select
          (select attstorage from pg_attribute where attrelid = 'source_chunks'::regclass and attname = 'bytes') as bytes,
          (select attcompression from pg_attribute where attrelid = 'messages'::regclass and attname = 'body_text') as text,
          (select 'lz4' = any(enumvals) from pg_settings where name = 'default_toast_compression') as can`,
      );
      expect(stored).toMatchObject({ bytes: "e", text: stored?.can ? "l" : "" });
    } finally {
      await remove();
    }
  });
});
