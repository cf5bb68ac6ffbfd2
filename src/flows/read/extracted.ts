import type { Logger } from "pino";
import { type ExtractedFrom, type Extraction, extractionOf, nothingExtracted } from "../../extract/extract.ts";
import { turns } from "../../primitives/turns.ts";

export interface ExtractingDeps {
  log: Logger;
}

export type ExtractedMessage = ExtractedFrom & { id: string };

/** Extracts the codes, the links and the text without quotes from each of these messages of an account. Returns them in order. */
export function extracted(
  { log }: ExtractingDeps,
  accountId: string,
  messages: readonly ExtractedMessage[],
): Promise<Extraction[]> {
  return inTurns.takeEach(accountId, messages, (message) => {
    try {
      return extractionOf(message);
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
