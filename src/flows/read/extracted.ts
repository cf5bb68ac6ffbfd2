import type { Logger } from "pino";
import { type ExtractedFrom, type Extraction, extractionOf, nothingExtracted } from "../../extract/extract.ts";
import { turns } from "../../primitives/turns.ts";

export interface ExtractingDeps {
  log: Logger;
}

export type ExtractedMessage = ExtractedFrom & { id: string };

/** Codes, links and new text of each of these messages of an account, in their order. */
export function extracted(
  { log }: ExtractingDeps,
  accountId: string,
  messages: readonly ExtractedMessage[],
): Promise<Extraction[]> {
  return inTurns.takeEach(accountId, messages, (message) => {
    try {
      return extractionOf(message);
    } catch (err) {
      // A rule that a strange mail breaks keeps nobody from the message.
      log.error({ err, message_id: message.id }, "message not extracted from: it is shown without codes and links");
      return nothingExtracted(message);
    }
  });
}

/** A page of the worst mail takes seconds. Accounts share the time, so that one account's pages hold up no other's. */
const inTurns = turns(10);

export async function extractedOf(
  deps: ExtractingDeps,
  accountId: string,
  message: ExtractedMessage,
): Promise<Extraction> {
  const [extraction = nothingExtracted(message)] = await extracted(deps, accountId, [message]);
  return extraction;
}
