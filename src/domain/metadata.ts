import { codePointLength } from "../standards/text.ts";
import { type Fault, Refusal } from "./errors.ts";

/** Strings that the owner of a message or an inbox attaches to it, by name. They are not part of any mail. */
export type Metadata = Readonly<Record<string, string>>;

/** A change of metadata by key. Null removes the key. */
export type MetadataChange = Readonly<Record<string, string | null>>;

/** The faults of `metadata`, or of a change of it. */
export function faultsOfMetadata(metadata: MetadataChange | undefined): Fault[] {
  const entries = Object.entries(metadata ?? {});
  if (entries.filter(([, value]) => value !== null).length > mostKeys) return [tooManyKeys];
  return entries.flatMap(([key, value]) => {
    if (!metadataKey.test(key)) {
      return [{ pointer: "#/metadata", detail: "must have keys of 1 to 40 letters, digits and _ . -, not __proto__" }];
    }
    if (value === null || codePointLength(value) <= longestValue) return [];
    return [{ pointer: `#/metadata/${key}`, detail: `must be a string of at most ${longestValue} characters` }];
  });
}

/** Refuses metadata that a change has made too large. */
export function refuseTooManyKeys(metadata: Metadata, doing: string): void {
  if (Object.keys(metadata).length <= mostKeys) return;
  throw new Refusal("validation_error", `Cannot ${doing}: "metadata" ${tooManyKeys.detail}`, { faults: [tooManyKeys] });
}

const mostKeys = 20;
const tooManyKeys = { pointer: "#/metadata", detail: `must have at most ${mostKeys} keys` };
const longestValue = 500;
/** The form of a key. `__proto__` is not allowed, because an assignment to it sets the prototype of an object instead of a field. */
const metadataKey = /^(?!__proto__$)[A-Za-z0-9_.-]{1,40}$/;
