-- Raw mail and attachments come compressed: to try it again only costs.
ALTER TABLE "source_chunks" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;--> statement-breakpoint
-- The text of a mail takes half the time to store with lz4. A server that was built without it keeps its own way.
DO $$ BEGIN
  ALTER TABLE "messages" ALTER COLUMN "body_text" SET COMPRESSION lz4;
  ALTER TABLE "messages" ALTER COLUMN "body_html" SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
