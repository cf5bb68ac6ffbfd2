import type { Db } from "../../database/db.ts";
import { inboxAddress } from "../../standards/address.ts";
import { listAttachments } from "../../store/mail/attachments.ts";
import { listDraftsOfEvents } from "../../store/send/drafts.ts";
import type { Deps } from "../deps.ts";
import { messageOfDraft } from "../read/draft-as-message.ts";
import type { WholeEvent } from "./event-payload.ts";

/** The fields of an event that its message has. */
type MailOfEvent = Pick<
  WholeEvent,
  | "rfcMessageId"
  | "fromAddr"
  | "toAddr"
  | "cc"
  | "subject"
  | "bodyText"
  | "metadata"
  | "receivedAt"
  | "attachments"
  | "included"
>;

/** The mails that were never sent, for the events about them, from their drafts. The id of a mail is that of its draft. */
export async function unsentMails(
  db: Db,
  { mailDomain }: Pick<Deps, "mailDomain">,
  ids: readonly string[],
): Promise<Map<string, MailOfEvent>> {
  const drafts = await listDraftsOfEvents(db, ids);
  const filesOf = Map.groupBy(await listAttachments(db, ids), ({ messageId }) => messageId);
  return new Map(
    drafts.map(({ username, threadMetadata, ...draft }) => {
      const attachments = filesOf.get(draft.id) ?? [];
      const message = messageOfDraft(draft, inboxAddress(username, mailDomain), attachments);
      const { rfcMessageId, fromAddr, toAddr, cc, subject, bodyText, metadata } = message;
      const shown = { rfcMessageId, fromAddr, toAddr, cc, subject, bodyText, metadata, attachments };
      return [draft.id, { ...shown, receivedAt: draft.createdAt, included: { ...message, threadMetadata } }];
    }),
  );
}
