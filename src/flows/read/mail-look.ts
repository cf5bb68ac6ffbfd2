import type { Db } from "../../database/db.ts";
import type { Reach } from "../../domain/access/access.ts";
import { notFound } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { type MailFilter, mailJudge } from "../../domain/mail-filter.ts";
import { findFirstSince, findInboxTotals, type StoredMessage } from "../../store/mail/message-pages.ts";
import { findThread } from "../../store/mail/thread-pages.ts";
import { findNumberAt, listMailInRange, type MailRange, type NumberedMail } from "../../store/mail/waits.ts";
import type { MessageOpener, Opened } from "./open-message.ts";
import { mailsAtOnce } from "./watched-inboxes.ts";

export interface LookDeps {
  db: Db;
  open: MessageOpener;
}

export interface LookRequest extends MailFilter {
  reach: Reach;
  inboxId: string;
  /**
   * Finds only mail after this message, or after the number that an earlier wait has reached. If undefined, finds the newest stored mail
   * since `since` that matches, or else the next one that comes.
   */
  after: { messageId: string } | { seen: number } | undefined;
  since: Date;
  hasCode: boolean;
  hasLink: boolean;
}

/** The most of the newest mails that a look without `after` searches. */
const newestLookedAt = 1_000;

/** The progress of one wait through its inbox. It is kept during an outage of the database, so that the wait can continue. */
export interface MailLook {
  readonly request: LookRequest;
  /**
   * The number of the last mail that it has looked at. At first it is the number after which the look begins; undefined until that is read.
   */
  seen: number | undefined;
  hasLooked: boolean;
  /** The mail that it has found; `seen` is then its number. */
  message: StoredMessage | undefined;
  isBehindNewest: boolean;
  /** Set when the wait has ended, so that it looks no further. */
  isOver: boolean;
}

export interface MailLooks {
  /**
   * Finds the number after which the look begins, by one read: later calls return `seen`. Throws if the inbox, thread or message does not
   * exist.
   */
  findStart(look: MailLook): Promise<number>;
  /** Looks through the stored mail, until it finds a match. Returns the number that it has reached. */
  begin(look: MailLook): Promise<number>;
  /** Looks through these mails, which came after `begin` has looked. */
  through(look: MailLook, mails: readonly NumberedMail[]): Promise<void>;
}

interface Found {
  message: StoredMessage;
  number: number;
}

export function newLook(request: LookRequest): MailLook {
  return {
    request,
    seen: undefined,
    hasLooked: false,
    message: undefined,
    isBehindNewest: request.after !== undefined,
    isOver: false,
  };
}

export function mailLooks({ db, open }: LookDeps): MailLooks {
  async function findStart(look: MailLook): Promise<number> {
    look.seen ??= await startOf(db, look.request);
    return look.seen;
  }

  async function inRange(look: MailLook, range: Omit<MailRange, "inboxId" | "limit">) {
    const found = await listMailInRange(db, { inboxId: look.request.inboxId, limit: mailsAtOnce, ...range });
    if (found === undefined) throw notFound("inbox");
    look.hasLooked = true;
    return found;
  }

  /** Finds the first of these mails that matches the request. It opens mails one by one, in order. */
  async function firstOf(look: MailLook, mails: readonly NumberedMail[]): Promise<Found | undefined> {
    if (mails.length === 0) return undefined;
    const { request } = look;
    const fits = mailJudge(request);
    for (const mail of mails) {
      if (look.isOver) return undefined;
      if (!fits(mail)) continue;
      const opened = await open(request.reach, mail.id);
      if (opened === undefined) throw notFound("inbox");
      if (await holds(request, opened)) return { message: opened.message, number: mail.number };
    }
    return undefined;
  }

  /**
   * Looks through the mail after the number `behind`, from the newest one backwards, because the mail that a caller waits for is usually
   * the newest.
   */
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
      return setSeen(look, top, found);
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
    return setSeen(look, mails.at(-1)?.number ?? from, await firstOf(look, mails));
  }

  return {
    findStart,
    async begin(look) {
      const from = await findStart(look);
      return look.isBehindNewest ? throughOldest(look, from) : throughNewest(look, from);
    },
    async through(look, mails) {
      await through(look, mails, await findStart(look));
    },
  };
}

function setSeen(look: MailLook, number: number, found: Found | undefined): number {
  look.message = found?.message;
  look.seen = found?.number ?? number;
  return look.seen;
}

async function holds({ hasCode, hasLink }: LookRequest, { extracted }: Opened): Promise<boolean> {
  if (hasCode && (await extracted()).codes.length === 0) return false;
  return !hasLink || (await extracted()).links.some(({ kind }) => kind !== null);
}

/** Reads the number of the mail after which a look begins. */
async function startOf(db: Db, request: LookRequest): Promise<number> {
  const { reach, inboxId, after, threadId, since } = request;
  const inbox = isId("inb", inboxId) ? await findInboxTotals(db, reach, inboxId) : undefined;
  if (inbox === undefined) throw notFound("inbox");
  if (threadId !== undefined) {
    const thread = isId("thr", threadId) ? await findThread(db, reach, threadId) : undefined;
    if (thread?.inboxId !== inboxId) throw notFound("thread");
  }
  if (after === undefined) {
    const first = await findFirstSince(db, inboxId, "inbound", inbox.inboundCount, since);
    return Math.max(first - 1, inbox.inboundCount - newestLookedAt);
  }
  // `seen` is higher than the count if the database was restored from a backup that is older than the earlier wait. Then all mail from now
  // on is new.
  if ("seen" in after) return Math.min(after.seen, inbox.inboundCount);
  const number = isId("msg", after.messageId) ? await findNumberAt(db, inboxId, after.messageId) : undefined;
  if (number === undefined) throw notFound("message");
  return number;
}
