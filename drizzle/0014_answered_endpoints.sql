ALTER TABLE "endpoints" ADD COLUMN "answered_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "webhooks" ADD COLUMN "answered_at" timestamp (3) with time zone;