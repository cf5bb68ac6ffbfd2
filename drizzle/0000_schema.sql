-- The positions of events are ids of transactions, which count up within one cluster. A database that was moved to another cluster,
-- by a dump, starts again with small ids there, and event-log.ts then replaces this shift.
-- Stable, not immutable: a prepared plan would keep an old shift.
CREATE FUNCTION event_log_shift() RETURNS bigint LANGUAGE sql STABLE RETURN 0::bigint;

-- The position of an event. A transaction may take its id before it waits for an inbox. Transactions that number
-- messages of that inbox meanwhile have later ids, and all of them have ended when this statement begins. So the position is
-- at least the id of the last transaction that has ended. It is never before the own id, so no reader has passed it.
-- Stable: all events of a statement get the same position, and their ids order them.
CREATE FUNCTION event_log_position() RETURNS xid8 LANGUAGE sql STABLE
  RETURN ((greatest(pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1)
    + event_log_shift())::text)::xid8;

-- Before this position the log is complete: it is the position of the oldest transaction that still runs.
CREATE FUNCTION event_log_horizon() RETURNS xid8 LANGUAGE sql STABLE
  RETURN ((pg_snapshot_xmin(pg_current_snapshot())::text::bigint + event_log_shift())::text)::xid8;

CREATE TABLE "accounts" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"plan" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"inbox_count" integer DEFAULT 0 NOT NULL,
	"inboxes_made_on" date,
	"inboxes_made" integer DEFAULT 0 NOT NULL,
	"limits" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"suspended" text,
	"suspended_reason" text,
	"moved_to" text,
	"retention_days" integer,
	"search_words" text,
	"send_policy" text DEFAULT 'open' NOT NULL,
	"storage_bytes" bigint DEFAULT 0 NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "accounts_name_unique" UNIQUE("name"),
	CONSTRAINT "accounts_plan" CHECK ("accounts"."plan" in ('free', 'developer', 'enterprise')),
	CONSTRAINT "accounts_suspended" CHECK ("accounts"."suspended" in ('sending', 'all', 'moving')),
	CONSTRAINT "accounts_search_words" CHECK ("accounts"."search_words" in ('all', 'head', 'off')),
	CONSTRAINT "accounts_moved_to" CHECK ("accounts"."moved_to" is null or "accounts"."suspended" = 'moving')
);
CREATE TABLE "addresses" (
	"username" text PRIMARY KEY NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"held_until" timestamp (3) with time zone
);
CREATE TABLE "api_keys" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"name" text,
	"hash" text NOT NULL,
	"prefix" text NOT NULL,
	"last_four" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	"access" text DEFAULT 'full' NOT NULL,
	"inbox_id" text collate "C",
	"external_id" text,
	"allowed_ips" text[] DEFAULT '{}' NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"created_by" text,
	"send_policy" text,
	"granted_by" text collate "C",
	CONSTRAINT "api_keys_hash_unique" UNIQUE("hash")
);
CREATE TABLE "approved_recipients" (
	"inbox_id" text collate "C" NOT NULL,
	"address" text NOT NULL,
	CONSTRAINT "approved_recipients_inbox_id_address_pk" PRIMARY KEY("inbox_id","address")
);
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
CREATE TABLE "audit_entries" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"account_id" text collate "C",
	"action" text NOT NULL,
	"actor_type" text NOT NULL,
	"actor_id" text,
	"actor_name" text,
	"target_type" text NOT NULL,
	"target_id" text NOT NULL,
	"ip" text,
	"request_id" text,
	"details" jsonb NOT NULL
);
CREATE TABLE "awaited_parents" (
	"inbox_id" text collate "C" NOT NULL,
	"message_id_hash" uuid NOT NULL,
	"thread_id" text collate "C" NOT NULL,
	CONSTRAINT "awaited_parents_inbox_id_message_id_hash_pk" PRIMARY KEY("inbox_id","message_id_hash")
);
CREATE TABLE "cold_sends" (
	"inbox_id" text collate "C" NOT NULL,
	"recipient" text NOT NULL,
	"sent_on" date NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "cold_sends_inbox_id_recipient_sent_on_pk" PRIMARY KEY("inbox_id","recipient","sent_on")
);
CREATE TABLE "correspondents" (
	"inbox_id" text collate "C" NOT NULL,
	"address" text NOT NULL,
	"verified_at" timestamp (3) with time zone,
	CONSTRAINT "correspondents_inbox_id_address_pk" PRIMARY KEY("inbox_id","address")
);
CREATE TABLE "counted_inboxes" (
	"inbox_id" text collate "C" PRIMARY KEY NOT NULL,
	"seq" integer NOT NULL,
	"storage_bytes" bigint NOT NULL,
	"revision" bigint NOT NULL
);
CREATE TABLE "deliveries" (
	"event_id" text collate "C" NOT NULL,
	"lane" text collate "C" NOT NULL,
	"attempt" integer NOT NULL,
	"attempted_at" timestamp (3) with time zone NOT NULL,
	"status" smallint,
	"latency_ms" integer,
	"error" text,
	"response" text,
	CONSTRAINT "deliveries_event_id_lane_attempt_pk" PRIMARY KEY("event_id","lane","attempt")
);
CREATE TABLE "domain_keys" (
	"domain_id" text collate "C" NOT NULL,
	"selector" text NOT NULL,
	"state" text NOT NULL,
	"private_key" text NOT NULL,
	"public_key" text NOT NULL,
	"made_at" timestamp (3) with time zone NOT NULL,
	"retire_days" smallint NOT NULL,
	"retires_at" timestamp (3) with time zone,
	CONSTRAINT "domain_keys_domain_id_selector_pk" PRIMARY KEY("domain_id","selector"),
	CONSTRAINT "domain_keys_state" CHECK ("domain_keys"."state" in ('active', 'next', 'retiring'))
);
CREATE TABLE "domains" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C",
	"name" text NOT NULL,
	"status" text NOT NULL,
	"return_path" text NOT NULL,
	"subdomains" boolean DEFAULT false NOT NULL,
	"zone" text,
	"records_seen" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"checked_at" timestamp (3) with time zone,
	"next_check_at" timestamp (3) with time zone,
	"missing_since" timestamp (3) with time zone,
	"pending_since" timestamp (3) with time zone NOT NULL,
	"asked_at" timestamp (3) with time zone,
	"verified_at" timestamp (3) with time zone,
	"fails_at" timestamp (3) with time zone,
	"failed_reason" text,
	"leased_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	CONSTRAINT "domains_status" CHECK ("domains"."status" in ('pending', 'verified', 'failing', 'failed'))
);
CREATE TABLE "drafts" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"thread_id" text collate "C" NOT NULL,
	"answered_id" text collate "C",
	"rfc_message_id" text NOT NULL,
	"state" text NOT NULL,
	"version" integer NOT NULL,
	"content" jsonb,
	"send_at" timestamp (3) with time zone,
	"due_at" timestamp (3) with time zone,
	"leased_until" timestamp (3) with time zone,
	"accepted_at" timestamp (3) with time zone,
	"accepted_inbound_seq" integer,
	"made_read" boolean DEFAULT false NOT NULL,
	"requested_by" text collate "C" NOT NULL,
	"approval" jsonb,
	"fingerprint" text,
	"failure" jsonb,
	"created_at" timestamp (3) with time zone NOT NULL,
	"updated_at" timestamp (3) with time zone NOT NULL,
	"lettered_version" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "drafts_state" CHECK (state in ('draft', 'scheduled', 'awaiting_approval', 'sent', 'canceled', 'rejected', 'expired', 'failed'))
);
CREATE TABLE "endpoints" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"is_default" boolean NOT NULL,
	"url" text,
	"secret" text NOT NULL,
	"previous_secret" text,
	"previous_secret_until" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL,
	"disabled_at" timestamp (3) with time zone,
	"disabled_reason" text,
	"failing_since" timestamp (3) with time zone,
	"answered_at" timestamp (3) with time zone,
	"description" text,
	"event_types" text[] NOT NULL,
	"inbox_ids" text[],
	"external_ids" text[],
	"skip_automated" boolean NOT NULL,
	"include" text[] NOT NULL,
	"headers" jsonb DEFAULT '[]'::jsonb NOT NULL
);
CREATE TABLE "events" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C",
	"thread_id" text collate "C",
	"message_id" text collate "C",
	"type" text NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"data" jsonb,
	"written_by" "xid8" DEFAULT event_log_position() NOT NULL
);
CREATE TABLE "grants" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"key_id" text collate "C" NOT NULL,
	"client_id" text NOT NULL,
	"client_name" text NOT NULL,
	"client_host" text NOT NULL,
	"redirect_uri" text NOT NULL,
	"challenge" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"turn" integer DEFAULT 0 NOT NULL,
	"turned_at" timestamp (3) with time zone NOT NULL,
	"turn_ends_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "grants_keyId_unique" UNIQUE("key_id")
);
CREATE TABLE "idempotency_keys" (
	"account_id" text collate "C" NOT NULL,
	"operation" text NOT NULL,
	"key" text NOT NULL,
	"fingerprint" text NOT NULL,
	"subject_id" text collate "C" NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_account_id_operation_key_pk" PRIMARY KEY("account_id","operation","key")
);
CREATE TABLE "inboxes" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"username" text NOT NULL,
	"external_id" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"deleted_at" timestamp (3) with time zone,
	"send_policy" text DEFAULT 'open' NOT NULL,
	"rejected_at" timestamp (3) with time zone,
	"erases_at" timestamp (3) with time zone,
	"message_count" integer DEFAULT 0 NOT NULL,
	"inbound_count" integer DEFAULT 0 NOT NULL,
	"removed_count" integer DEFAULT 0 NOT NULL,
	"removed_inbound_count" integer DEFAULT 0 NOT NULL,
	"last_removed_seq" integer DEFAULT 0 NOT NULL,
	"last_removed_inbound_seq" integer DEFAULT 0 NOT NULL,
	"thread_count" integer DEFAULT 0 NOT NULL,
	"unread_count" integer DEFAULT 0 NOT NULL,
	"archive_count" integer DEFAULT 0 NOT NULL,
	"trash_count" integer DEFAULT 0 NOT NULL,
	"last_message_at" timestamp (3) with time zone,
	"last_message_id" text collate "C",
	"sent_on" date,
	"sent_count" integer DEFAULT 0 NOT NULL,
	"domain_id" text collate "C",
	"retention_days" integer,
	"search_words" text,
	"display_name" text,
	"aliases" text[] DEFAULT '{}' NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"approvers" text[],
	"disabled" boolean DEFAULT false NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone,
	"storage_bytes" bigint DEFAULT 0 NOT NULL,
	"revision" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "inboxes_search_words" CHECK ("inboxes"."search_words" in ('all', 'head', 'off'))
);
CREATE TABLE "label_counts" (
	"inbox_id" text collate "C" NOT NULL,
	"label" text collate "C" NOT NULL,
	"thread_count" integer NOT NULL,
	"unread_count" integer NOT NULL,
	CONSTRAINT "label_counts_inbox_id_label_pk" PRIMARY KEY("inbox_id","label")
);
CREATE TABLE "letters" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"address" text NOT NULL,
	"draft_ids" text[] NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"taken_at" timestamp (3) with time zone
);
CREATE TABLE "message_names" (
	"name_hash" uuid NOT NULL,
	"message_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"thread_id" text collate "C" NOT NULL,
	"name" text NOT NULL,
	CONSTRAINT "message_names_name_hash_message_id_pk" PRIMARY KEY("name_hash","message_id")
);
CREATE TABLE "message_search" (
	"inbox_id" text collate "C" NOT NULL,
	"seq" integer NOT NULL,
	"message_id" text collate "C" NOT NULL,
	"thread_id" text collate "C" NOT NULL,
	"at_ms" bigint NOT NULL,
	"indexed" text NOT NULL,
	"words" "tsvector" NOT NULL,
	CONSTRAINT "message_search_inbox_id_seq_pk" PRIMARY KEY("inbox_id","seq")
);
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
	"reply_tos" text[],
	"subject" text NOT NULL,
	"body_text" text NOT NULL,
	"body_html" text,
	"attachment_count" integer NOT NULL,
	"source_id" text collate "C",
	"size_bytes" integer NOT NULL,
	"in_reply_to" text,
	"reference_ids" text[],
	"provider_message_id" text,
	"failure" jsonb,
	"envelope_from" text,
	"truncated" boolean DEFAULT false NOT NULL,
	"automated" jsonb,
	"auto_submitted" text,
	"to_addrs" text[] NOT NULL,
	"metadata" jsonb,
	"headers" jsonb,
	"forward_of" text collate "C",
	"delivery" jsonb,
	"sent_by" text collate "C",
	"retries" smallint DEFAULT 0 NOT NULL,
	"authentication" jsonb,
	"spam" jsonb,
	CONSTRAINT "messages_direction" CHECK ("messages"."direction" in ('inbound', 'outbound')),
	CONSTRAINT "messages_status" CHECK ("messages"."status" in ('received', 'pending', 'sent', 'failed'))
);
CREATE TABLE "oauth_clients" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"redirect_uris" text[] NOT NULL,
	"registered_at" timestamp (3) with time zone NOT NULL,
	"registered_from" text,
	"is_used" boolean DEFAULT false NOT NULL
);
CREATE TABLE "operator_keys" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"hash" text NOT NULL,
	"prefix" text NOT NULL,
	"last_four" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "operator_keys_name_unique" UNIQUE("name"),
	CONSTRAINT "operator_keys_hash_unique" UNIQUE("hash")
);
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
	"claimed_by" integer,
	"claimed_at" timestamp (3) with time zone,
	"event_id" text collate "C",
	"unsure" boolean DEFAULT false NOT NULL,
	"last_error" text,
	CONSTRAINT "outbox_kind" CHECK ("outbox"."kind" in ('relay', 'webhook', 'parse')),
	CONSTRAINT "outbox_state" CHECK ("outbox"."state" in ('ready', 'running', 'waiting'))
);
CREATE TABLE "packing" (
	"id" smallint PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"leased_until" timestamp (3) with time zone NOT NULL,
	"seen_id" text collate "C" NOT NULL
);
CREATE TABLE "policies" (
	"account_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"external_id" text NOT NULL,
	"inbound" jsonb,
	"send_policy" text DEFAULT 'open' NOT NULL,
	CONSTRAINT "policies_account_id_inbox_id_external_id_pk" PRIMARY KEY("account_id","inbox_id","external_id")
);
CREATE TABLE "quarantine" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"reason" text NOT NULL,
	"rule_id" text collate "C",
	"message_id_hash" uuid NOT NULL,
	"content_hash" uuid,
	"source_id" text collate "C" NOT NULL,
	"envelope_from" text NOT NULL,
	"client" jsonb,
	"to_addr" text NOT NULL,
	"from_addr" text NOT NULL,
	"from_name" text,
	"subject" text NOT NULL,
	"preview" text NOT NULL,
	"size_bytes" integer NOT NULL,
	"authentication" jsonb,
	"spam" jsonb,
	"received_at" timestamp (3) with time zone NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"message_id" text collate "C",
	"thread_id" text collate "C"
);
CREATE TABLE "recent_requests" (
	"account_id" text collate "C" NOT NULL,
	"action" text NOT NULL,
	"asked_at" timestamp (3) with time zone[] NOT NULL,
	CONSTRAINT "recent_requests_account_id_action_pk" PRIMARY KEY("account_id","action")
);
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
	"attempts" jsonb,
	CONSTRAINT "recipients_message_id_position_pk" PRIMARY KEY("message_id","position")
);
CREATE TABLE "removed_messages" (
	"inbox_id" text collate "C" NOT NULL,
	"message_id_hash" uuid NOT NULL,
	"message_id" text collate "C" NOT NULL,
	"content_hash" uuid,
	"removed_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "removed_messages_inbox_id_message_id_hash_message_id_pk" PRIMARY KEY("inbox_id","message_id_hash","message_id")
);
CREATE TABLE "removed_threads" (
	"thread_id" text collate "C" PRIMARY KEY NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"removed_at" timestamp (3) with time zone NOT NULL
);
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
CREATE TABLE "rules" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"external_id" text NOT NULL,
	"direction" text NOT NULL,
	"action" text NOT NULL,
	"pattern" text NOT NULL,
	"even_unauthenticated" boolean DEFAULT false NOT NULL,
	"note" text,
	"created_at" timestamp (3) with time zone NOT NULL
);
CREATE TABLE "search_indexers" (
	"holder" text PRIMARY KEY NOT NULL,
	"leased_until" timestamp (3) with time zone NOT NULL
);
CREATE TABLE "search_indexing" (
	"id" smallint PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"leased_until" timestamp (3) with time zone NOT NULL,
	"seen_id" text collate "C" NOT NULL
);
CREATE TABLE "segments" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"size_bytes" integer NOT NULL,
	"looked_at" timestamp (3) with time zone NOT NULL,
	"dead_at" timestamp (3) with time zone
);
CREATE TABLE "settings" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
CREATE TABLE "source_chunks" (
	"source_id" text collate "C" NOT NULL,
	"part" smallint NOT NULL,
	"seq" integer NOT NULL,
	"compressed" boolean NOT NULL,
	"bytes" "bytea",
	"shares" integer,
	"segment_id" text collate "C",
	"segment_at" integer,
	"sealed_bytes" integer,
	"seal_key" "bytea",
	CONSTRAINT "source_chunks_source_id_part_seq_pk" PRIMARY KEY("source_id","part","seq")
);
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
CREATE TABLE "thread_blocks" (
	"inbox_id" text collate "C" NOT NULL,
	"block" integer NOT NULL,
	"unread" integer NOT NULL,
	"read" integer NOT NULL,
	"archived" integer NOT NULL,
	"trashed" integer NOT NULL,
	CONSTRAINT "thread_blocks_inbox_id_block_pk" PRIMARY KEY("inbox_id","block")
);
CREATE TABLE "thread_labels" (
	"thread_id" text collate "C" NOT NULL,
	"label" text collate "C" NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"is_read" boolean NOT NULL,
	"last_seq" integer NOT NULL,
	CONSTRAINT "thread_labels_thread_id_label_pk" PRIMARY KEY("thread_id","label")
);
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
	"people" jsonb NOT NULL,
	"preview" text NOT NULL,
	"has_attachments" boolean NOT NULL,
	"folder" text DEFAULT 'inbox' NOT NULL,
	"labels" text[] DEFAULT '{}' NOT NULL,
	"metadata" jsonb,
	"trashed_at" timestamp (3) with time zone,
	CONSTRAINT "threads_folder" CHECK ("threads"."folder" in ('inbox', 'archive', 'trash')),
	CONSTRAINT "threads_unread" CHECK ("threads"."is_read" or "threads"."folder" = 'inbox'),
	CONSTRAINT "threads_trashed_at" CHECK (("threads"."folder" = 'trash') = ("threads"."trashed_at" is not null))
);
CREATE TABLE "unparsed_mails" (
	"source_id" text collate "C" PRIMARY KEY NOT NULL,
	"received_at" timestamp (3) with time zone NOT NULL,
	"envelope_from" text NOT NULL,
	"recipients" jsonb NOT NULL,
	"client" jsonb,
	"size_bytes" integer NOT NULL,
	"content_hash" uuid
);
CREATE TABLE "uploads" (
	"id" text collate "C" PRIMARY KEY NOT NULL,
	"account_id" text collate "C" NOT NULL,
	"made_by" text NOT NULL,
	"source_id" text collate "C" NOT NULL,
	"filename" text NOT NULL,
	"content_type" text NOT NULL,
	"size_bytes" bigint NOT NULL,
	"digest" text,
	"created_at" timestamp (3) with time zone NOT NULL,
	"completed_at" timestamp (3) with time zone,
	"expires_at" timestamp (3) with time zone NOT NULL
);
CREATE TABLE "usage_counting" (
	"id" smallint PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"leased_until" timestamp (3) with time zone NOT NULL,
	"seen_message_id" text collate "C" NOT NULL,
	"seen_inbox_id" text collate "C" NOT NULL,
	"passed_inbox_id" text collate "C" NOT NULL,
	"counted_until" timestamp (3) with time zone
);
CREATE TABLE "usage_days" (
	"account_id" text collate "C" NOT NULL,
	"day" date NOT NULL,
	"inbox_id" text collate "C" NOT NULL,
	"received" integer DEFAULT 0 NOT NULL,
	"received_bytes" bigint DEFAULT 0 NOT NULL,
	"sent" integer DEFAULT 0 NOT NULL,
	"sent_bytes" bigint DEFAULT 0 NOT NULL,
	"inboxes_created" integer DEFAULT 0 NOT NULL,
	CONSTRAINT "usage_days_account_id_day_inbox_id_pk" PRIMARY KEY("account_id","day","inbox_id")
);
CREATE TABLE "used_tokens" (
	"token" text PRIMARY KEY NOT NULL,
	"used_for" text NOT NULL,
	"valid_until" timestamp (3) with time zone NOT NULL
);
ALTER TABLE "api_keys" ADD CONSTRAINT "api_keys_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;
ALTER TABLE "endpoints" ADD CONSTRAINT "endpoints_account_id_accounts_id_fk" FOREIGN KEY ("account_id") REFERENCES "public"."accounts"("id") ON DELETE no action ON UPDATE no action;
CREATE INDEX "addresses_held" ON "addresses" USING btree ("held_until") WHERE "addresses"."held_until" is not null;
CREATE INDEX "api_keys_granted_by" ON "api_keys" USING btree ("granted_by") WHERE "api_keys"."granted_by" is not null;
CREATE INDEX "api_keys_account" ON "api_keys" USING btree ("account_id","id");
CREATE INDEX "api_keys_inbox" ON "api_keys" USING btree ("inbox_id") WHERE "api_keys"."inbox_id" is not null;
CREATE INDEX "audit_entries_account" ON "audit_entries" USING btree ("account_id","id");
CREATE INDEX "audit_entries_thread" ON "audit_entries" USING btree ("target_id","id") WHERE "audit_entries"."action" = 'thread.marked';
CREATE INDEX "awaited_parents_thread" ON "awaited_parents" USING btree ("thread_id");
CREATE INDEX "cold_sends_day" ON "cold_sends" USING btree ("sent_on");
CREATE INDEX "deliveries_lane" ON "deliveries" USING btree ("lane","attempted_at");
CREATE UNIQUE INDEX "domain_keys_state" ON "domain_keys" USING btree ("domain_id","state");
CREATE UNIQUE INDEX "domains_account" ON "domains" USING btree ("account_id","name") WHERE "domains"."deleted_at" is null;
CREATE UNIQUE INDEX "domains_holder" ON "domains" USING btree ("name") WHERE "domains"."deleted_at" is null and "domains"."status" in ('verified', 'failing');
CREATE INDEX "domains_due" ON "domains" USING btree ("next_check_at") WHERE "domains"."next_check_at" is not null;
CREATE INDEX "drafts_inbox" ON "drafts" USING btree ("inbox_id","state","id");
CREATE INDEX "drafts_account" ON "drafts" USING btree ("account_id","state","id");
CREATE INDEX "drafts_thread" ON "drafts" USING btree ("thread_id") WHERE "drafts"."state" <> 'sent';
CREATE INDEX "drafts_due" ON "drafts" USING btree ("due_at") WHERE "drafts"."due_at" is not null;
CREATE INDEX "drafts_rejected" ON "drafts" USING btree ("inbox_id","updated_at") WHERE "drafts"."state" = 'rejected';
CREATE INDEX "drafts_content" ON "drafts" USING btree ("updated_at") WHERE "drafts"."content" is not null;
CREATE INDEX "drafts_unlettered" ON "drafts" USING btree ("id") WHERE "drafts"."state" = 'awaiting_approval' and "drafts"."lettered_version" < "drafts"."version";
CREATE INDEX "drafts_leased" ON "drafts" USING btree ("inbox_id") WHERE "drafts"."leased_until" is not null;
CREATE INDEX "endpoints_account" ON "endpoints" USING btree ("account_id");
CREATE UNIQUE INDEX "endpoints_lane" ON "endpoints" USING btree ((case when "is_default" then "account_id" else "id" end));
CREATE INDEX "events_account" ON "events" USING btree ("account_id","written_by","id");
CREATE INDEX "events_inbox" ON "events" USING btree ("inbox_id","written_by","id");
CREATE INDEX "events_occurred" ON "events" USING btree ("occurred_at");
CREATE INDEX "events_message" ON "events" USING btree ("message_id") WHERE "events"."type" <> 'message.received' and "events"."message_id" is not null;
CREATE INDEX "grants_account" ON "grants" USING btree ("account_id","id");
CREATE INDEX "grants_turn_ends_at" ON "grants" USING btree ("turn_ends_at");
CREATE INDEX "idempotency_keys_created" ON "idempotency_keys" USING btree ("created_at");
CREATE INDEX "inboxes_account" ON "inboxes" USING btree ("account_id","id") WHERE "inboxes"."deleted_at" is null;
CREATE INDEX "inboxes_external_id" ON "inboxes" USING btree ("account_id","external_id","id") WHERE "inboxes"."deleted_at" is null and "inboxes"."external_id" is not null;
CREATE INDEX "inboxes_deleted" ON "inboxes" USING btree ("erases_at","id") WHERE "inboxes"."deleted_at" is not null;
CREATE INDEX "inboxes_expires_at" ON "inboxes" USING btree ("expires_at") WHERE "inboxes"."expires_at" is not null and "inboxes"."deleted_at" is null;
CREATE INDEX "inboxes_domain" ON "inboxes" USING btree ("domain_id") WHERE "inboxes"."domain_id" is not null and "inboxes"."deleted_at" is null;
CREATE UNIQUE INDEX "letters_open" ON "letters" USING btree (lower("address" collate "C")) WHERE "letters"."taken_at" is null;
CREATE INDEX "letters_taken" ON "letters" USING btree ("taken_at") WHERE "letters"."taken_at" is not null;
CREATE INDEX "message_names_message" ON "message_names" USING btree ("message_id");
CREATE INDEX "message_search_words" ON "message_search" USING gin ("words");
CREATE INDEX "message_search_indexed" ON "message_search" USING btree ("inbox_id","indexed") WHERE "message_search"."indexed" <> 'all';
CREATE INDEX "messages_inbox_seq" ON "messages" USING btree ("inbox_id","seq");
CREATE INDEX "messages_direction_seq" ON "messages" USING btree ("inbox_id","direction","direction_seq");
CREATE INDEX "messages_thread_seq" ON "messages" USING btree ("thread_id","seq");
CREATE INDEX "messages_attached" ON "messages" USING btree ("inbox_id","seq","direction") WHERE "messages"."attachment_count" > 0;
CREATE INDEX "messages_message_id" ON "messages" USING btree (uuid_hash_extended("message_id_hash", hashtextextended("inbox_id", 0)),"content_hash");
CREATE INDEX "messages_sent_at" ON "messages" USING btree ("inbox_id","created_at") WHERE "messages"."direction" = 'outbound';
CREATE INDEX "oauth_clients_unused" ON "oauth_clients" USING btree ("registered_at") WHERE not "oauth_clients"."is_used";
CREATE INDEX "outbox_line" ON "outbox" USING btree ("kind","lane","account_id","inbox_id","created_at","subject_id") WHERE "outbox"."state" = 'ready';
CREATE INDEX "outbox_due" ON "outbox" USING btree ("kind","due_at") WHERE "outbox"."state" <> 'ready';
CREATE INDEX "outbox_waiting" ON "outbox" USING btree ("kind","lane","created_at") WHERE "outbox"."state" = 'waiting';
CREATE INDEX "outbox_running" ON "outbox" USING btree ("inbox_id","lane") WHERE "outbox"."state" = 'running';
CREATE INDEX "quarantine_account" ON "quarantine" USING btree ("account_id","id");
CREATE INDEX "quarantine_inbox" ON "quarantine" USING btree ("inbox_id","id");
CREATE INDEX "quarantine_copies" ON "quarantine" USING btree ("inbox_id","message_id_hash","content_hash");
CREATE INDEX "quarantine_expires" ON "quarantine" USING btree ("expires_at");
CREATE INDEX "quarantine_message" ON "quarantine" USING btree ("message_id") WHERE "quarantine"."message_id" is not null;
CREATE INDEX "removed_messages_removed_at" ON "removed_messages" USING btree ("removed_at");
CREATE UNIQUE INDEX "reports_message" ON "reports" USING btree ("message_id","recipient","kind");
CREATE UNIQUE INDEX "rules_pattern" ON "rules" USING btree ("account_id","inbox_id","external_id","direction","action","pattern");
CREATE INDEX "rules_account" ON "rules" USING btree ("account_id","id");
CREATE INDEX "segments_looked" ON "segments" USING btree ("looked_at");
CREATE INDEX "source_chunks_segment" ON "source_chunks" USING btree ("segment_id") WHERE segment_id is not null;
CREATE UNIQUE INDEX "suppressions_address" ON "suppressions" USING btree ("account_id","address","inbox_id");
CREATE INDEX "suppressions_account" ON "suppressions" USING btree ("account_id","id");
CREATE INDEX "suppressions_expires" ON "suppressions" USING btree ("expires_at") WHERE "suppressions"."expires_at" is not null;
CREATE INDEX "thread_labels_inbox" ON "thread_labels" USING btree ("inbox_id","label","is_read","last_seq","thread_id");
CREATE INDEX "threads_inbox" ON "threads" USING btree ("inbox_id","folder","is_read","last_seq");
CREATE INDEX "threads_trashed" ON "threads" USING btree ("trashed_at") WHERE "threads"."trashed_at" is not null;
CREATE INDEX "unparsed_mails_content" ON "unparsed_mails" USING btree ("content_hash");
CREATE INDEX "uploads_account" ON "uploads" USING btree ("account_id","expires_at");
CREATE INDEX "uploads_expires" ON "uploads" USING btree ("expires_at");
CREATE INDEX "usage_days_by_inbox" ON "usage_days" USING btree ("day") WHERE "usage_days"."inbox_id" <> '';
CREATE INDEX "used_tokens_valid_until" ON "used_tokens" USING btree ("valid_until");

-- Raw mail and attachments are compressed already: a second compression only costs time.
ALTER TABLE "source_chunks" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;

-- lz4 stores the text of a mail in half the time. A server that was built without lz4 keeps its default.
DO $$ BEGIN
  ALTER TABLE "messages" ALTER COLUMN "body_text" SET COMPRESSION lz4;
  ALTER TABLE "messages" ALTER COLUMN "body_html" SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;
