CREATE TABLE "recent_requests" (
	"account_id" text collate "C" NOT NULL,
	"action" text NOT NULL,
	"asked_at" timestamp (3) with time zone[] NOT NULL,
	CONSTRAINT "recent_requests_account_id_action_pk" PRIMARY KEY("account_id","action")
);
--> statement-breakpoint
CREATE TABLE "unparsed_mails" (
	"source_id" text collate "C" PRIMARY KEY NOT NULL,
	"received_at" timestamp (3) with time zone NOT NULL,
	"envelope_from" text NOT NULL,
	"recipients" jsonb NOT NULL,
	"size_bytes" integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE "outbox" DROP CONSTRAINT "outbox_kind";--> statement-breakpoint
ALTER TABLE "correspondents" ADD COLUMN "answered" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "envelope_from" text;--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "truncated" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "outbox" ADD CONSTRAINT "outbox_kind" CHECK ("outbox"."kind" in ('relay', 'webhook', 'parse'));