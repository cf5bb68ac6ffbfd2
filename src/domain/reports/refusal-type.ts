import type { Failure } from "../outcome.ts";
import { bounceTypeOf } from "./bounce-type.ts";
import { saidText } from "./phrases.ts";
import type { BounceType } from "./report.ts";

/**
 * The type of an answer that refuses a mail at once, by the table that bounces go by. The words count where the recipient's own server
 * says them: those of a relay are about the relay.
 */
export function typeOfRefusal({ code, enhancedCode, message }: Failure, isRecipientsServer: boolean): BounceType {
  return bounceTypeOf({
    enhancedCodes: enhancedCode === null ? [] : [enhancedCode],
    code: code ?? undefined,
    said: saidText(isRecipientsServer ? message : ""),
  });
}
