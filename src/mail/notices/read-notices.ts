import type { Notice } from "../../domain/reports/notice.ts";
import type { NoticeSource } from "../../domain/reports/notice-source.ts";
import { mailgunNotices } from "./mailgun.ts";
import { postmarkNotices } from "./postmark.ts";
import { resendNotices } from "./resend.ts";
import { sendgridNotices } from "./sendgrid.ts";
import { sesNotices } from "./ses.ts";

/** What a relay says, read. */
export interface ReadNotices {
  events: NoticeEvent[];
  /** How many things it said besides: opens, clicks, and what nobody here knows. */
  others: number;
}

/** One thing that happened to a mail, which may say something of several recipients. */
export interface NoticeEvent {
  notices: Notice[];
  /** JSON, as the relay has it. */
  raw: string;
}

/** Each in the relay's own words; those of `generic` are ours, and judged by the door. */
export function readNotices(provider: Exclude<NoticeSource["provider"], "generic">, value: unknown): ReadNotices {
  // SendGrid tells many at a time.
  const events = value === undefined ? [] : Array.isArray(value) ? value : [value];
  const read = events.map((event) => ({ notices: readers[provider](event), raw: JSON.stringify(event) }));
  const told = read.filter(({ notices }) => notices.length > 0);
  return { events: told, others: Math.max(read.length, 1) - told.length };
}

const readers = {
  ses: sesNotices,
  mailgun: mailgunNotices,
  sendgrid: sendgridNotices,
  resend: resendNotices,
  postmark: postmarkNotices,
} as const;
