CREATE TABLE "message_names" (
	"name_hash" uuid NOT NULL,
	"message_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"thread_id" text collate "C" NOT NULL,
	"name" text NOT NULL,
	CONSTRAINT "message_names_name_hash_message_id_pk" PRIMARY KEY("name_hash","message_id")
);
--> statement-breakpoint
CREATE TABLE "recipients" (
	"message_id" text collate "C" NOT NULL,
	"position" smallint NOT NULL,
	"address" text NOT NULL,
	"name" text,
	"type" text NOT NULL,
	"destination" smallint NOT NULL,
	"status" text NOT NULL,
	"provider_message_id" text,
	"failure" jsonb,
	"delivery" jsonb,
	CONSTRAINT "recipients_message_id_position_pk" PRIMARY KEY("message_id","position")
);
--> statement-breakpoint
CREATE TABLE "reports" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"message_id" text collate "C" NOT NULL,
	"recipient" text NOT NULL,
	"kind" text NOT NULL,
	"type" text,
	"code" smallint,
	"enhanced_code" text,
	"diagnostic" text,
	"reported_recipient" text,
	"remote_mta" text,
	"reporting_mta" text,
	"source" text NOT NULL,
	"proof" text NOT NULL,
	"suppressed" boolean DEFAULT false NOT NULL,
	"source_id" text collate "C",
	"received_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "suppressions" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"address" text NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"reason" text NOT NULL,
	"detail" text,
	"message_id" text collate "C",
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "uploads" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"source_id" text collate "C" NOT NULL,
	"filename" text NOT NULL,
	"content_type" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"digest" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"completed_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "outbox" DROP CONSTRAINT "outbox_kind";--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "to_addrs" text[];--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "recipient_count" smallint DEFAULT 1 NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "metadata" jsonb;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "headers" jsonb;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "forward_of" text collate "C";--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "delivery" jsonb;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "unsure" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "message_names_message" ON "message_names" USING btree ("message_id");--> statement-breakpoint
CREATE UNIQUE INDEX "reports_message" ON "reports" USING btree ("message_id","recipient","kind");--> statement-breakpoint
CREATE UNIQUE INDEX "suppressions_address" ON "suppressions" USING btree ("account_id","address","inbox_id");--> statement-breakpoint
CREATE INDEX "suppressions_account" ON "suppressions" USING btree ("account_id","id");--> statement-breakpoint
CREATE INDEX "suppressions_expires" ON "suppressions" USING btree ("expires_at") WHERE "suppressions"."expires_at" is not null;--> statement-breakpoint
CREATE INDEX "uploads_account" ON "uploads" USING btree ("account_id","expires_at");--> statement-breakpoint
CREATE INDEX "uploads_expires" ON "uploads" USING btree ("expires_at");--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_kind" CHECK ("outbox"."kind" in ('relay', 'webhook', 'parse', 'endpoint', 'destination'));