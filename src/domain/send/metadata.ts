import { codePointLength } from "../../standards/text.ts";
import type { Fault } from "../errors.ts";

/** The fault of `metadata`, which is stored with a message but is not part of the mail. */
export function faultsOfMetadata(metadata: Readonly<Record<string, string>> | undefined): Fault[] {
  const entries = Object.entries(metadata ?? {});
  if (entries.length > mostKeys) return [{ pointer: "#/metadata", detail: `must have at most ${mostKeys} keys` }];
  return entries.flatMap(([key, value]) => {
    if (!metadataKey.test(key)) {
      return [{ pointer: "#/metadata", detail: "must have keys of 1 to 40 letters, digits and _ . -, not __proto__" }];
    }
    if (codePointLength(value) <= longestValue) return [];
    return [{ pointer: `#/metadata/${key}`, detail: `must be a string of at most ${longestValue} characters` }];
  });
}

const mostKeys = 20;
const longestValue = 500;
/** The form of a key. `__proto__` is not allowed, because an assignment to it sets the prototype of an object instead of a field. */
const metadataKey = /^(?!__proto__$)[A-Za-z0-9_.-]{1,40}$/;
