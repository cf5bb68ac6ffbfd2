import type { Automated } from "../domain/automated.ts";

/** What the tools read of the API's answers. */

export interface Inbox {
  id: string;
  address: string;
  externalId: string | null;
  createdAt: string;
}

export interface Thread {
  id: string;
  inboxId: string;
  subject: string;
  isRead: boolean;
  participants: string[];
  preview: string;
  lastMessageAt: string;
  lastMessageId: string;
  messageCount: number;
}

export interface Page<Item> {
  data: Item[];
  total: number;
}

export interface MessagePage extends Page<Message> {
  nextCursor: string | null;
}

export interface ThreadMessages extends Page<Message> {
  threadId: string;
  subject: string;
  isRead: boolean;
}

export interface Attachment {
  filename: string;
  contentType: string;
  sizeBytes: number;
  url: string;
  expiresAt: string;
}

export interface Code {
  code: string;
  domain: string | null;
  source: string;
}

export interface Link {
  url: string;
  text: string;
  kind: string | null;
  misleading: boolean;
}

export interface Message {
  id: string;
  threadId: string;
  inboxId: string;
  direction: "inbound" | "outbound";
  status: string;
  fromAddr: string;
  fromName: string | null;
  toAddr: string;
  cc: string[];
  replyTo: string | null;
  subject: string;
  bodyText: string;
  bodyHtml: string | null;
  attachments: Attachment[];
  failure: { message: string } | null;
  createdAt: string;
  truncated: boolean;
  automated: Automated | null;
  codes: Code[];
  links: Link[];
  extractedText: string;
}

export interface Sent {
  messageId: string;
  threadId: string;
  status: string;
  isRead?: boolean;
}
