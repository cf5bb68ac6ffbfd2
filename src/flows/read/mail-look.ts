import type { Db } from "../../database/db.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { type MailFilter, mailJudge } from "../../domain/mail-filter.ts";
import { findFirstSince, findInboxTotals, type StoredMessage } from "../../store/mail/message-pages.ts";
import { findThread } from "../../store/mail/thread-pages.ts";
import { findNumberAt, listMailInRange, type MailRange, type NumberedMail } from "../../store/mail/waits.ts";
import type { MessageOpener, Opened } from "./open-message.ts";
import { mailsAtOnce } from "./watched-inbox.ts";

export interface LookDeps {
  db: Db;
  open: MessageOpener;
}

export interface LookRequest extends MailFilter {
  accountId: string;
  inboxId: string;
  /** Behind which message, or which place of an earlier wait; undefined: the newest since `since`, else the next. */
  after: { messageId: string } | { place: number } | undefined;
  since: Date;
  hasCode: boolean;
  hasLink: boolean;
}

/** Without a place nobody looks further back than so many mails. */
const newestLookedAt = 1_000;

/** One wait's walk through its inbox, and where it stands. It goes on there, also where the database was away in its midst. */
export interface MailLook {
  readonly request: LookRequest;
  /** Up to which number it has looked; undefined before it is known where to begin. */
  place: number | undefined;
  hasLooked: boolean;
  /** The mail that it has found, from when its place is there. */
  message: StoredMessage | undefined;
  isBehindNewest: boolean;
  /** Nobody waits for what it finds any more: it looks no further. */
  isOver: boolean;
}

export interface MailLooks {
  /** Where it begins; throws where that is nowhere. Done once. */
  findPlace(look: MailLook): Promise<number>;
  /** Through what is there already. Answers its place. */
  begin(look: MailLook): Promise<number>;
  /** Through what has come behind its place. */
  through(look: MailLook, mails: readonly NumberedMail[]): Promise<void>;
}

interface Found {
  message: StoredMessage;
  number: number;
}

export function newLook(request: LookRequest): MailLook {
  return {
    ...{ request, place: undefined, hasLooked: false, message: undefined },
    isBehindNewest: request.after !== undefined,
    isOver: false,
  };
}

export function mailLooks({ db, open }: LookDeps): MailLooks {
  async function findPlace(look: MailLook): Promise<number> {
    look.place ??= await startOf(db, look.request);
    return look.place;
  }

  async function inRange(look: MailLook, range: Omit<MailRange, "inboxId" | "limit">) {
    const found = await listMailInRange(db, { inboxId: look.request.inboxId, limit: mailsAtOnce, ...range });
    if (found === undefined) throw notFound("inbox");
    look.hasLooked = true;
    return found;
  }

  /** The first of these that fits, in their order. */
  async function firstOf(look: MailLook, mails: readonly NumberedMail[]): Promise<Found | undefined> {
    if (mails.length === 0) return undefined;
    const { request } = look;
    const fits = mailJudge(request);
    for (const mail of mails) {
      if (look.isOver) return undefined;
      if (!fits(mail)) continue;
      const opened = await open(request.accountId, mail.id);
      if (opened === undefined) throw notFound("inbox");
      if (await holds(request, opened)) return { message: opened.message, number: mail.number };
    }
    return undefined;
  }

  /** From the newest down: what was just asked for is what comes last. */
  async function throughNewest(look: MailLook, behind: number): Promise<number> {
    let before: number | undefined;
    let top: number | undefined;
    for (;;) {
      const range = { behind, order: "newest first" as const };
      const { lastNumber, mails } = await inRange(look, before === undefined ? range : { ...range, before });
      top ??= lastNumber;
      const found = await firstOf(look, mails);
      before = mails.at(-1)?.number;
      const isMore = before !== undefined && mails.length === mailsAtOnce && !look.isOver;
      if (found === undefined && isMore) continue;
      look.isBehindNewest = true;
      return standAt(look, top, found);
    }
  }

  async function throughOldest(look: MailLook, behind: number): Promise<number> {
    for (let from = behind; ; ) {
      const { mails } = await inRange(look, { behind: from, order: "oldest first" });
      from = await through(look, mails, from);
      if (look.message !== undefined || mails.length < mailsAtOnce || look.isOver) return from;
    }
  }

  async function through(look: MailLook, mails: readonly NumberedMail[], from: number): Promise<number> {
    return standAt(look, mails.at(-1)?.number ?? from, await firstOf(look, mails));
  }

  return {
    findPlace,
    async begin(look) {
      const from = await findPlace(look);
      return look.isBehindNewest ? throughOldest(look, from) : throughNewest(look, from);
    },
    async through(look, mails) {
      await through(look, mails, await findPlace(look));
    },
  };
}

function standAt(look: MailLook, number: number, found: Found | undefined): number {
  look.message = found?.message;
  look.place = found?.number ?? number;
  return look.place;
}

async function holds({ hasCode, hasLink }: LookRequest, { extracted }: Opened): Promise<boolean> {
  if (hasCode && (await extracted()).codes.length === 0) return false;
  return !hasLink || (await extracted()).links.some(({ kind }) => kind !== null);
}

/** The number behind which to look. */
async function startOf(db: Db, request: LookRequest): Promise<number> {
  const { accountId, inboxId, after, threadId, since } = request;
  const inbox = isId("inb", inboxId) ? await findInboxTotals(db, accountId, inboxId) : undefined;
  if (inbox === undefined) throw notFound("inbox");
  if (threadId !== undefined) {
    const thread = isId("thr", threadId) ? await findThread(db, accountId, threadId) : undefined;
    if (thread?.inboxId !== inboxId) throw notFound("thread");
  }
  if (after === undefined) {
    const first = await findFirstSince(db, inboxId, "inbound", inbox.inboundCount, since);
    return Math.max(first - 1, inbox.inboundCount - newestLookedAt);
  }
  // A place that is not reached yet is of a database that was put back since: from here on all is new.
  if ("place" in after) return Math.min(after.place, inbox.inboundCount);
  const number = isId("msg", after.messageId) ? await findNumberAt(db, inboxId, after.messageId) : undefined;
  if (number === undefined) throw notFound("message");
  return number;
}
