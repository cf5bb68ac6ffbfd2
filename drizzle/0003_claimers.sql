DROP INDEX "outbox_running";--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "claimed_by" integer;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "claimed_at" timestamp (3) with time zone;--> statement-breakpoint
CREATE INDEX "outbox_running" ON "outbox" USING btree ("inbox_id","lane") WHERE "outbox"."state" = 'running';