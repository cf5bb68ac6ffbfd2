CREATE TABLE "accounts" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"plan" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"inbox_count" integer DEFAULT 0 NOT NULL,
	"inboxes_made_on" date,
	"inboxes_made" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "accounts_name_unique" UNIQUE("name"),
	CONSTRAINT "accounts_plan" CHECK ("accounts"."plan" in ('free', 'developer', 'enterprise'))
);
--> statement-breakpoint
CREATE TABLE "addresses" (
	"username" text PRIMARY KEY NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"held_until" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"hash" text NOT NULL,
	"prefix" text NOT NULL,
	"last_four" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "attachments" (
	"message_id" text collate "C" NOT NULL,
	"filename" text NOT NULL,
	"id" text collate "C" NOT NULL,
	"position" smallint NOT NULL,
	"content_type" text NOT NULL,
	"size_bytes" integer NOT NULL,
	"content_id" text,
	"inline" boolean NOT NULL,
	"source_id" text collate "C" NOT NULL,
	"part" smallint NOT NULL,
	"digest" text NOT NULL,
	CONSTRAINT "attachments_message_id_filename_pk" PRIMARY KEY("message_id","filename")
);
--> statement-breakpoint
CREATE TABLE "awaited_parents" (
	"inbox_id" text collate "C" NOT NULL,
	"message_id_hash" uuid NOT NULL,
	"thread_id" text collate "C" NOT NULL,
	CONSTRAINT "awaited_parents_inbox_id_message_id_hash_pk" PRIMARY KEY("inbox_id","message_id_hash")
);
--> statement-breakpoint
CREATE TABLE "cold_sends" (
	"inbox_id" text collate "C" NOT NULL,
	"recipient" text NOT NULL,
	"sent_on" date NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "cold_sends_inbox_id_recipient_sent_on_pk" PRIMARY KEY("inbox_id","recipient","sent_on")
);
--> statement-breakpoint
CREATE TABLE "correspondents" (
	"inbox_id" text collate "C" NOT NULL,
	"address" text NOT NULL,
	CONSTRAINT "correspondents_inbox_id_address_pk" PRIMARY KEY("inbox_id","address")
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"event_id" text collate "C" NOT NULL,
	"attempt" integer NOT NULL,
	"attempted_at" timestamp (3) with time zone NOT NULL,
	"status" smallint,
	"latency_ms" integer,
	"error" text,
	"response" text,
	CONSTRAINT "deliveries_event_id_attempt_pk" PRIMARY KEY("event_id","attempt")
);
--> statement-breakpoint
CREATE TABLE "events" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"thread_id" text collate "C" NOT NULL,
	"message_id" text collate "C" NOT NULL,
	"type" text NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"written_by" "xid8" DEFAULT pg_current_xact_id() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"account_id" text collate "C" NOT NULL,
	"operation" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"subject_id" text collate "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_account_id_operation_key_pk" PRIMARY KEY("account_id","operation","key")
);
--> statement-breakpoint
CREATE TABLE "inboxes" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"username" text NOT NULL,
	"external_id" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"message_count" integer DEFAULT 0 NOT NULL,
	"inbound_count" integer DEFAULT 0 NOT NULL,
	"thread_count" integer DEFAULT 0 NOT NULL,
	"unread_count" integer DEFAULT 0 NOT NULL,
	"last_message_at" timestamp (3) with time zone,
	"last_message_id" text collate "C",
	"sent_on" date,
	"sent_count" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "message_search" (
	"inbox_id" text collate "C" NOT NULL,
	"seq" integer NOT NULL,
	"words" "tsvector" NOT NULL,
	CONSTRAINT "message_search_inbox_id_seq_pk" PRIMARY KEY("inbox_id","seq")
);
--> statement-breakpoint
CREATE TABLE "messages" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"thread_id" text collate "C" NOT NULL,
	"seq" integer NOT NULL,
	"direction" text NOT NULL,
	"direction_seq" integer NOT NULL,
	"status" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"rfc_message_id" text NOT NULL,
	"message_id_hash" uuid NOT NULL,
	"content_hash" uuid,
	"from_addr" text NOT NULL,
	"from_name" text,
	"to_addr" text NOT NULL,
	"cc" text[] NOT NULL,
	"reply_to" text,
	"subject" text NOT NULL,
	"body_text" text NOT NULL,
	"body_html" text,
	"attachment_count" integer NOT NULL,
	"source_id" text collate "C",
	"size_bytes" integer,
	"in_reply_to" text,
	"reference_ids" text[],
	"provider_message_id" text,
	"failure" jsonb,
	CONSTRAINT "messages_direction" CHECK ("messages"."direction" in ('inbound', 'outbound')),
	CONSTRAINT "messages_status" CHECK ("messages"."status" in ('received', 'pending', 'sent', 'failed'))
);
--> statement-breakpoint
CREATE TABLE "outbox" (
	"subject_id" text collate "C" PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"lane" text collate "C" NOT NULL,
	"state" text DEFAULT 'ready' NOT NULL,
	"due_at" timestamp (3) with time zone NOT NULL,
	"attempt" integer DEFAULT 0 NOT NULL,
	"forgiven_attempts" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "outbox_kind" CHECK ("outbox"."kind" in ('relay', 'webhook')),
	CONSTRAINT "outbox_state" CHECK ("outbox"."state" in ('ready', 'running', 'waiting'))
);
--> statement-breakpoint
CREATE TABLE "search_indexing" (
	"id" smallint PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"leased_until" timestamp (3) with time zone NOT NULL,
	"seen_id" text collate "C" NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "source_chunks" (
	"source_id" text collate "C" NOT NULL,
	"part" smallint NOT NULL,
	"seq" integer NOT NULL,
	"compressed" boolean NOT NULL,
	"bytes" "bytea" NOT NULL,
	"shares" integer,
	CONSTRAINT "source_chunks_source_id_part_seq_pk" PRIMARY KEY("source_id","part","seq")
);
--> statement-breakpoint
CREATE TABLE "threads" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"subject" text NOT NULL,
	"is_read" boolean NOT NULL,
	"message_count" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_message_at" timestamp (3) with time zone NOT NULL,
	"last_message_id" text collate "C" NOT NULL,
	"last_seq" integer NOT NULL,
	"last_inbound_seq" integer NOT NULL,
	"participants" text[] NOT NULL,
	"preview" text NOT NULL,
	"has_attachments" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"account_id" text collate "C" PRIMARY KEY NOT NULL,
	"url" text,
	"secret" text NOT NULL,
	"previous_secret" text,
	"previous_secret_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"disabled_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_keys_account" ON "api_keys" USING btree ("account_id");--> statement-breakpoint
CREATE INDEX "cold_sends_day" ON "cold_sends" USING btree ("sent_on");--> statement-breakpoint
CREATE INDEX "events_account" ON "events" USING btree ("account_id","written_by","id");--> statement-breakpoint
CREATE INDEX "events_inbox" ON "events" USING btree ("inbox_id","written_by","id");--> statement-breakpoint
CREATE INDEX "events_occurred" ON "events" USING btree ("occurred_at");--> statement-breakpoint
CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "inboxes_account" ON "inboxes" USING btree ("account_id","id") WHERE "inboxes"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "inboxes_external_id" ON "inboxes" USING btree ("account_id","external_id","id") WHERE "inboxes"."deleted_at" is null and "inboxes"."external_id" is not null;--> statement-breakpoint
CREATE INDEX "inboxes_deleted" ON "inboxes" USING btree ("deleted_at") WHERE "inboxes"."deleted_at" is not null;--> statement-breakpoint
CREATE INDEX "message_search_words" ON "message_search" USING gin ("words");--> statement-breakpoint
CREATE INDEX "messages_inbox_seq" ON "messages" USING btree ("inbox_id","seq");--> statement-breakpoint
CREATE INDEX "messages_direction_seq" ON "messages" USING btree ("inbox_id","direction","direction_seq");--> statement-breakpoint
CREATE INDEX "messages_thread_seq" ON "messages" USING btree ("thread_id","seq");--> statement-breakpoint
CREATE INDEX "messages_message_id" ON "messages" USING btree ("inbox_id","message_id_hash","content_hash");--> statement-breakpoint
CREATE INDEX "messages_sent_at" ON "messages" USING btree ("inbox_id","created_at") WHERE "messages"."direction" = 'outbound';--> statement-breakpoint
CREATE INDEX "outbox_line" ON "outbox" USING btree ("kind","lane","inbox_id","created_at","subject_id") WHERE "outbox"."state" = 'ready';--> statement-breakpoint
CREATE INDEX "outbox_due" ON "outbox" USING btree ("kind","due_at") WHERE "outbox"."state" <> 'ready';--> statement-breakpoint
CREATE INDEX "outbox_waiting" ON "outbox" USING btree ("kind","lane","created_at") WHERE "outbox"."state" = 'waiting';--> statement-breakpoint
CREATE INDEX "outbox_running" ON "outbox" USING btree ("inbox_id","lane") WHERE "outbox"."kind" = 'relay' and "outbox"."state" = 'running';--> statement-breakpoint
CREATE INDEX "threads_inbox" ON "threads" USING btree ("inbox_id","is_read","last_seq");