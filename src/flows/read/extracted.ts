import type { Logger } from "pino";
import { type ExtractedFrom, type Extraction, extractionOf, nothingExtracted } from "../../extract/extract.ts";
import { boundedMemory } from "../../primitives/memory.ts";
import { turns } from "../../primitives/turns.ts";

export interface ExtractingDeps {
  log: Logger;
}

export type ExtractedMessage = ExtractedFrom & { id: string };

interface Remembered {
  message: ExtractedFrom;
  extraction: Extraction;
}

/** The characters of the messages and extractions that are remembered. */
const mostRemembered = 16 << 20;
/** The characters of the longest message that is remembered, so that no page of long ones replaces all others. */
const longestRemembered = 256 << 10;

/**
 * The last extractions, by the id of their message. Programs read the same page again and again, and extracting from the HTML of 50 mails
 * takes longer than reading them. A message of which less is shown, or a draft that was changed, is another message here.
 */
const remembered = boundedMemory<string, Remembered>(mostRemembered, sizeOf);

function sizeOf({ message, extraction }: Remembered): number {
  return lengthOf(message) + extraction.extractedText.length + (extraction.extractedHtml?.length ?? 0);
}

function lengthOf({ subject, bodyText, bodyHtml }: ExtractedFrom): number {
  return subject.length + bodyText.length + (bodyHtml?.length ?? 0);
}

function extractionOnce({ id, direction, subject, bodyText, bodyHtml, inReplyTo }: ExtractedMessage): Extraction {
  const message = { direction, subject, bodyText, bodyHtml, inReplyTo };
  const known = remembered.get(id);
  if (known !== undefined && isSame(known.message, message)) return known.extraction;
  const extraction = extractionOf(message);
  if (lengthOf(message) <= longestRemembered) remembered.set(id, { message, extraction });
  return extraction;
}

function isSame(one: ExtractedFrom, other: ExtractedFrom): boolean {
  return (
    one.direction === other.direction &&
    one.subject === other.subject &&
    one.bodyText === other.bodyText &&
    one.bodyHtml === other.bodyHtml &&
    one.inReplyTo === other.inReplyTo
  );
}

/** Extracts the codes, the links and the text without quotes from each of these messages of an account. Returns them in order. */
export function extracted(
  { log }: ExtractingDeps,
  accountId: string,
  messages: readonly ExtractedMessage[],
): Promise<Extraction[]> {
  return inTurns.takeEach(accountId, messages, (message) => {
    try {
      return extractionOnce(message);
    } catch (err) {
      // The message is shown even if a rule fails on a strange mail.
      log.error({ err, message_id: message.id }, "message not extracted: it is shown without codes and links");
      return nothingExtracted(message);
    }
  });
}

/**
 * Accounts take turns, because extracting a page of the worst mail takes seconds: the pages of one account must not block those of another.
 */
const inTurns = turns(10);

export async function extractedOf(
  deps: ExtractingDeps,
  accountId: string,
  message: ExtractedMessage,
): Promise<Extraction> {
  const [extraction = nothingExtracted(message)] = await extracted(deps, accountId, [message]);
  return extraction;
}
