import type { attachments } from "../schema.ts";

export type AttachmentRow = typeof attachments.$inferSelect;
