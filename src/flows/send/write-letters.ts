import { transaction } from "../../database/db.ts";
import type { OutgoingMail } from "../../domain/message.ts";
import { approversInForce } from "../../domain/send/approvers.ts";
import { type LetteredMail, letterAbout, letterPauseMs, mostInLetter } from "../../domain/send/letter.ts";
import { listAttachments } from "../../store/mail/attachments.ts";
import { listAwaiting } from "../../store/send/drafts-to-approve.ts";
import {
  addToLetters,
  type Letter,
  lockLetters,
  lockUnlettered,
  markLettered,
  markLettersTaken,
} from "../../store/send/letters.ts";
import type { Deps } from "../deps.ts";
import type { ApprovalLinks } from "./approval-links.ts";
import { type DecidersDeps, mayStillDecide, shownMail } from "./approval-view.ts";

export interface LetterDeps extends Deps, DecidersDeps {
  approvalLinks: Pick<ApprovalLinks, "make">;
}

/** The most drafts about which letters are written at a time. */
const mostDrafts = 100;

/** Writes letters to the approvers of drafts that wait for approval. Returns whether there may be more such drafts. */
export async function writeLetters(deps: LetterDeps): Promise<boolean> {
  const at = deps.now();
  const found = await transaction(deps.db.work, async (tx) => {
    const waiting = await lockUnlettered(tx, mostDrafts);
    if (waiting.length === 0) return waiting;
    const draftsOf = new Map<string, { address: string; draftIds: string[] }>();
    for (const { id, approvers } of waiting) {
      for (const address of approversInForce(approvers, deps.approvers)) {
        const letter = draftsOf.get(address.toLowerCase()) ?? { address, draftIds: [] };
        letter.draftIds.push(id);
        draftsOf.set(address.toLowerCase(), letter);
      }
    }
    const added = Array.from(draftsOf.values(), (letter) => ({ id: deps.newId("ltr", at), ...letter }));
    if (added.length > 0) await addToLetters(tx, added, { at, pauseMs: letterPauseMs });
    await markLettered(tx, waiting);
    return waiting;
  });
  if (found.length > 0) deps.nudge("relay");
  return found.length === mostDrafts;
}

/** Closes letters whose first attempt begins, and lists them. Drafts that have no room go into the next letters. */
export async function takeLetters(deps: Pick<Deps, "db" | "now" | "newId">, ids: readonly string[]): Promise<Letter[]> {
  if (ids.length === 0) return [];
  const at = deps.now();
  return transaction(deps.db.work, async (tx) => {
    const letters = await lockLetters(tx, ids);
    const taken = letters.filter(({ takenAt }) => takenAt === null).map(withDraftsOnce);
    if (taken.length === 0) return letters;
    const first = taken.map((letter) => ({ ...letter, draftIds: letter.draftIds.slice(0, mostInLetter), takenAt: at }));
    await markLettersTaken(tx, first, at);
    const rest = taken.flatMap(({ address, draftIds }) => {
      const left = draftIds.slice(mostInLetter);
      return left.length === 0 ? [] : [{ id: deps.newId("ltr", at), address, draftIds: left }];
    });
    if (rest.length > 0) await addToLetters(tx, rest, { at, pauseMs: letterPauseMs });
    return [...letters.filter(({ takenAt }) => takenAt !== null), ...first];
  });
}

/** A draft that was changed while its letter waited was added twice. */
function withDraftsOnce(letter: Letter): Letter {
  return { ...letter, draftIds: [...new Set(letter.draftIds)] };
}

/**
 * The mail of a letter, with the drafts that still wait for its approver. Undefined if there is none. It is made anew at each attempt, so it
 * always has the present versions.
 */
export async function letterMail(
  deps: LetterDeps,
  { id, address, draftIds, takenAt, createdAt }: Letter,
): Promise<OutgoingMail | undefined> {
  const db = deps.db.work;
  const waiting = await listAwaiting(db, draftIds);
  const decides = await Promise.all(waiting.map((draft) => mayStillDecide(deps, { address }, draft)));
  const own = waiting.filter((_, index) => decides[index]);
  if (own.length === 0) return undefined;
  const ids = own.map((draft) => draft.id);
  const filesOf = Map.groupBy(await listAttachments(db, ids), ({ messageId }) => messageId);
  const mails = await Promise.all(
    own.map(async (draft): Promise<LetteredMail> => {
      const { from, text, otherText } = shownMail(draft, deps.mailDomain);
      const expiresAt = new Date(draft.approval?.expiresAt ?? createdAt);
      const link = { draftId: draft.id, version: draft.version, approver: { address }, expiresAt };
      return {
        from: from.name === null ? from.address : `${from.name} <${from.address}>`,
        recipients: draft.content?.recipients ?? [],
        newRecipients: draft.approval?.newRecipients ?? [],
        subject: draft.content?.subject ?? "",
        text: otherText ?? text,
        files: filesOf.get(draft.id)?.length ?? 0,
        link: await deps.approvalLinks.make(link),
        expiresAt,
      };
    }),
  );
  const { subject, text } = letterAbout(mails);
  return {
    messageId: `${id}@${deps.mailDomain}`,
    date: takenAt ?? createdAt,
    from: { address: letterSender(deps.mailDomain), name: "inboxd" },
    to: [{ address }],
    cc: [],
    replyTo: undefined,
    subject,
    bodyText: text,
    bodyHtml: undefined,
    inReplyTo: undefined,
    references: [],
    autoSubmitted: "auto-generated",
    headers: [],
    attachments: [],
  };
}

/** The sender of letters. No inbox can have the name. */
export function letterSender(mailDomain: string): string {
  return `no-reply@${mailDomain}`;
}
