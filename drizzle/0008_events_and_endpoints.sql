CREATE TABLE "endpoints" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"url" text NOT NULL,
	"secret" text NOT NULL,
	"previous_secret" text,
	"previous_secret_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"disabled_at" timestamp (3) with time zone,
	"disabled_reason" text,
	"failing_since" timestamp (3) with time zone,
	"description" text,
	"event_types" text[] DEFAULT '{message.received}' NOT NULL,
	"inbox_ids" text[],
	"skip_automated" boolean DEFAULT false NOT NULL,
	"include" text[] DEFAULT '{}' NOT NULL
);
--> statement-breakpoint
ALTER TABLE "outbox" DROP CONSTRAINT "outbox_kind";--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "inbox_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "thread_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ALTER COLUMN "message_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "data" jsonb;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "automated" jsonb;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "auto_submitted" text;--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "event_id" text collate "C";--> statement-breakpoint
ALTER TABLE "outbox" ADD COLUMN "endpoint_id" text collate "C";--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "disabled_reason" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "failing_since" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "description" text;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "event_types" text[] DEFAULT '{message.received}' NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "inbox_ids" text[];--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "skip_automated" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "include" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "id" text collate "C" DEFAULT 'whk_0' || left(replace(gen_random_uuid()::text, '-', ''), 25) NOT NULL;--> statement-breakpoint
ALTER TABLE "endpoints" ADD CONSTRAINT "endpoints_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "endpoints_account" ON "endpoints" USING btree ("account_id");--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_id_unique" UNIQUE("id");--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_kind" CHECK ("outbox"."kind" in ('relay', 'webhook', 'parse', 'endpoint'));