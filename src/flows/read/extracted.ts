import type { Logger } from "pino";
import { type ExtractedFrom, type Extraction, extractionOf, nothingExtracted } from "../../extract/extract.ts";
import { turns } from "../../primitives/turns.ts";

export interface ExtractingDeps {
  log: Logger;
}

/** What each of these messages says to who has to act on it, in their order. */
export async function extracted(
  deps: ExtractingDeps,
  messages: readonly (ExtractedFrom & { id: string })[],
): Promise<Extraction[]> {
  const extractions: Extraction[] = [];
  for (const message of messages) extractions.push(await extractedOf(deps, message));
  return extractions;
}

/** A page of the worst mail there is takes seconds, whoever asks for it. */
const inTurns = turns(10);

/** Nobody waits for a rule that a strange mail breaks: the message is shown, and the log says why it has nothing more. */
export function extractedOf({ log }: ExtractingDeps, message: ExtractedFrom & { id: string }): Promise<Extraction> {
  return inTurns.take(() => {
    try {
      return extractionOf(message);
    } catch (err) {
      log.error({ err, message_id: message.id }, "message not extracted from: it is shown without codes and links");
      return nothingExtracted(message);
    }
  });
}
