import { transaction } from "../../database/db.ts";
import type { ParsedMail } from "../../domain/message.ts";
import { type InboundMail, type MailOutcome, senderInLine } from "../../domain/receive/inbound-mail.ts";
import { parseHead } from "../../mail/read/parse.ts";
import type { QueueEntry } from "../../mail/read/process-pool.ts";
import { listDisabledInboxes } from "../../store/account/inboxes.ts";
import { chunksOf, insertSources } from "../../store/mail/sources.ts";
import { insertUnparsedMail, type UnparsedMail } from "../../store/mail/unparsed-mails.ts";
import type { ClaimedItem } from "../../store/outbox/claims.ts";
import type { Deps } from "../deps.ts";
import { storedMail } from "../read/stored-pieces.ts";
import { aboutMail, contentHashOf, oncePerInbox, type ReceivedMail, withShownSender } from "./arrival.ts";
import type { Authenticate } from "./authenticate-sender.ts";
import { PromiseTaken } from "./receive-email.ts";

/**
 * Keeps a mail that the parser had no time for. One transaction stores the raw source and the promise to parse and file it for all
 * recipients. The API shows the mail only after that is done.
 */
export async function keepUnparsed(deps: Deps, { envelope, raw }: InboundMail): Promise<MailOutcome> {
  const receivedAt = deps.now();
  const sourceId = deps.newId("src", receivedAt);
  const asked = oncePerInbox(envelope);
  const chunks = await chunksOf(0, raw);
  const contentHash = contentHashOf(raw) ?? null;
  const kept = await transaction(deps.db.mail, async (tx) => {
    const disabled = await listDisabledInboxes(
      tx,
      asked.map(({ inboxId }) => inboxId),
    );
    const recipients = asked.filter(({ inboxId }) => !disabled.has(inboxId));
    const unparsed = {
      sourceId,
      receivedAt,
      envelope: { ...envelope, recipients },
      sizeBytes: raw.length,
      contentHash,
    };
    if (!(await insertUnparsedMail(tx, unparsed, senderInLine(envelope))))
      return disabled.size > 0 ? "disabled" : "gone";
    await insertSources(tx, [{ id: sourceId, shares: recipients.length, chunks }]);
    return recipients;
  });
  if (typeof kept === "string") return kept;
  deps.nudge("parse");
  deps.log.info(
    { source_id: sourceId, inboxes: kept.map(({ inboxId }) => inboxId), size_bytes: raw.length },
    "mail kept: it is parsed later",
  );
  return "stored";
}

export interface UnparsedDeps extends Deps {
  parse: (raw: Uint8Array, entry: QueueEntry) => Promise<ParsedMail | undefined>;
  authenticate: Authenticate;
  receive: (mail: ReceivedMail) => Promise<MailOutcome>;
}

/** `taken` means that another process has claimed the mail meanwhile. */
export type UnparsedOutcome = MailOutcome | "taken";

/** After this many attempts, which take an hour or more, the mail itself may be why parsing fails. Then only its head is parsed. */
const mostAttempts = 20;

/** Parses and files a mail that was kept unparsed. It waits for the parser until the signal aborts; the result is then `unavailable`. */
export async function receiveUnparsed(
  deps: UnparsedDeps,
  unparsed: UnparsedMail,
  { subjectId, attempt, lane }: ClaimedItem,
  signal: AbortSignal,
): Promise<UnparsedOutcome> {
  const { envelope } = unparsed;
  const raw = await storedMail(deps.db.work, unparsed);
  if (raw === undefined) throw new Error(`Cannot file ${unparsed.sourceId}: its source is not whole`);
  const mail = attempt > mostAttempts ? await parseHead(raw, deps) : await deps.parse(raw, { sender: lane, signal });
  if (mail === undefined) return "unavailable";
  const authentication = await deps.authenticate({ envelope, raw });
  const acknowledgedAt = unparsed.receivedAt;
  const promise = { subjectId, attempt };
  const received = withShownSender({ envelope, raw, mail, authentication, promise, acknowledgedAt });
  try {
    const outcome = await deps.receive(received);
    deps.log.info({ ...aboutMail(received), source_id: subjectId, outcome }, "mail received");
    return outcome;
  } catch (error) {
    if (error instanceof PromiseTaken) return "taken";
    throw error;
  }
}
