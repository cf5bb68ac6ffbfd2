import { DatabaseUnavailable } from "../database/db.ts";
import { nextParseAttemptAt } from "../domain/backoff.ts";
import type { Deps } from "../flows/deps.ts";
import type { UnparsedOutcome } from "../flows/receive/unparsed-mail.ts";
import {
  listUnparsedMails,
  type ParseSettlement,
  settleParses,
  type UnparsedMail,
} from "../store/mail/unparsed-mails.ts";
import type { ClaimedItem } from "../store/outbox/claims.ts";
import { kinds } from "../store/outbox/kinds.ts";
import { claimReady, releaseItems } from "../store/outbox/outbox-rows.ts";
import type { Job } from "./outbox/job.ts";
import type { Lanes } from "./outbox/lanes.ts";

export interface ParseMailDeps extends Deps {
  /** Parses a mail and files it, which deletes its outbox row. */
  receiveUnparsed: (mail: UnparsedMail, claim: ClaimedItem, signal: AbortSignal) => Promise<UnparsedOutcome>;
}

/** A claimed row. `mail` is undefined if the mail does not exist any more. */
export type ParseItem = ClaimedItem & { mail: UnparsedMail | undefined };

type Settlement = ParseSettlement & { isDone: boolean };

/**
 * The lease of a claim. It is renewed while a mail waits for the parser, so it only decides how soon another process takes over after a
 * crash.
 */
const leaseMs = 60_000;

/** The most mails that wait for the parser or are parsed. Each is in memory, with its parsed content. */
const mostInHand = 2;

/** The job that parses mail that was acknowledged before it could be parsed. */
export function parseMailJob(deps: ParseMailDeps): Job<ParseItem, Settlement> {
  const { db, now } = deps;

  async function settlementOf(item: ParseItem, signal: AbortSignal): Promise<Settlement> {
    if (item.mail === undefined) return { ...putOff(item, now()), dueAt: null };
    const outcome = await deps.receiveUnparsed(item.mail, item, signal).catch(unlessAway);
    if (outcome === "stored" || outcome === "quarantined" || outcome === "gone")
      return { ...putOff(item, now()), dueAt: null, isDone: true };
    // When this process stops, the mail is due at once, for another process.
    return putOff(item, signal.aborted ? now() : nextParseAttemptAt(item.attempt, now()));
  }

  return {
    kind: kinds.parse,
    leaseMs,
    lanes: parseLanes(),
    async claim(claim) {
      const { items, ...claimed } = await claimReady(db.work, claim);
      if (items.length === 0) return { items: [], ...claimed };
      try {
        const mails = await listUnparsedMails(
          db.work,
          items.map(({ subjectId }) => subjectId),
        );
        const byId = new Map(mails.map((mail) => [mail.sourceId, mail]));
        return { items: items.map((item) => ({ ...item, mail: byId.get(item.subjectId) })), ...claimed };
      } catch (error) {
        await releaseItems(db.work, items).catch(() => undefined);
        throw error;
      }
    },
    attempt: async (item, signal) => ({ settlement: await settlementOf(item, signal), leaving: "unknown" }),
    failed: (item) => putOff(item, nextParseAttemptAt(item.attempt, now())),
    /** A filed mail has no row any more, so only the results of the others are recorded. */
    async settle(settlements) {
      const done = settlements.filter(({ isDone }) => isDone).map(({ subjectId }) => subjectId);
      const others = settlements.filter(({ isDone }) => !isDone);
      return new Set([...done, ...(others.length > 0 ? await settleParses(db.work, others) : [])]);
    },
  };
}

function unlessAway(error: unknown): "unavailable" {
  if (error instanceof DatabaseUnavailable) return "unavailable";
  throw error;
}

function putOff({ subjectId, attempt }: ParseItem, dueAt: Date): Settlement {
  return { subjectId, attempt, dueAt, isDone: false };
}

/** The slots for parsing. A lane is the network of a mail's client, and has one mail at a time, so that no client takes all slots. */
function parseLanes(): Lanes<{ lane: string }> {
  const inHand = new Set<string>();
  const free = () => mostInHand - inHand.size;
  return {
    free,
    strangers: () => free() > 0,
    slots: (lane) => (inHand.has(lane) ? 0 : Math.min(1, free())),
    enter({ lane }) {
      if (free() === 0 || inHand.has(lane)) return undefined;
      inHand.add(lane);
      return () => void inHand.delete(lane);
    },
    slotInMs: () => undefined,
  };
}
