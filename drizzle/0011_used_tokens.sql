CREATE TABLE "used_tokens" (
	"token" text PRIMARY KEY NOT NULL,
	"used_for" text NOT NULL,
	"valid_until" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "used_tokens_valid_until" ON "used_tokens" USING btree ("valid_until");