import type { Notice } from "../../domain/reports/notice.ts";
import type { NoticeSource } from "../../domain/reports/notice-source.ts";
import { mailgunNotices } from "./mailgun.ts";
import { postmarkNotices } from "./postmark.ts";
import { resendNotices } from "./resend.ts";
import { sendgridNotices } from "./sendgrid.ts";
import { sesNotices } from "./ses.ts";

export interface ReadNotices {
  events: NoticeEvent[];
  /** The number of ignored events: opens, clicks, and unknown ones. */
  others: number;
}

/** One event of a mail, with a notice for each recipient concerned. */
export interface NoticeEvent {
  notices: Notice[];
  /** The event as JSON, in the relay's format. */
  raw: string;
}

/** Reads the notices in a relay's format. The route validates those in our own format, `generic`. */
export function readNotices(provider: Exclude<NoticeSource["provider"], "generic">, value: unknown): ReadNotices {
  // SendGrid sends an array of events, the other relays one event.
  const events = value === undefined ? [] : Array.isArray(value) ? value : [value];
  const read = events.map((event) => ({ notices: readers[provider](event), raw: JSON.stringify(event) }));
  const known = read.filter(({ notices }) => notices.length > 0);
  return { events: known, others: Math.max(read.length, 1) - known.length };
}

const readers = {
  ses: sesNotices,
  mailgun: mailgunNotices,
  sendgrid: sendgridNotices,
  resend: resendNotices,
  postmark: postmarkNotices,
} as const;
