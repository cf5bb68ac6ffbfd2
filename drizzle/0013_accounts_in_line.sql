DROP INDEX "outbox_line";--> statement-breakpoint
CREATE INDEX "outbox_line" ON "outbox" USING btree ("kind","lane","account_id","inbox_id","created_at","subject_id") WHERE "outbox"."state" = 'ready';