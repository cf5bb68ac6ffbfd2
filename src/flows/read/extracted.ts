import type { Logger } from "pino";
import { type ExtractedFrom, type Extraction, extractionOf, nothingExtracted } from "../../extract/extract.ts";

export interface ExtractingDeps {
  log: Logger;
}

/**
 * What each of these messages says to who has to act on it, in their order. A page of the worst mail there is takes a second: others are
 * served in between.
 */
export async function extracted(
  { log }: ExtractingDeps,
  messages: readonly (ExtractedFrom & { id: string })[],
): Promise<Extraction[]> {
  const extractions: Extraction[] = [];
  let sinceMs = performance.now();
  for (const message of messages) {
    if (performance.now() - sinceMs > longestTurnMs) {
      await new Promise((resolve) => setImmediate(resolve));
      sinceMs = performance.now();
    }
    extractions.push(extractedOf(log, message));
  }
  return extractions;
}

const longestTurnMs = 10;

/** Nobody waits for a rule that a strange mail breaks: the message is shown, and the log says why it has nothing more. */
export function extractedOf(log: Logger, message: ExtractedFrom & { id: string }): Extraction {
  try {
    return extractionOf(message);
  } catch (err) {
    log.error({ err, message_id: message.id }, "message not extracted from: it is shown without codes and links");
    return nothingExtracted(message);
  }
}
