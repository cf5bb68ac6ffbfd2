import { codePointLength } from "../standards/text.ts";
import { type Fault, Refusal } from "./errors.ts";

/** Strings that the caller attaches to a message, a thread or an inbox, by name. They are not part of any mail. */
export type Metadata = Readonly<Record<string, string>>;

/** A merge patch of metadata (RFC 7396): null removes a key, and null instead of the patch removes all. */
export type MetadataPatch = Readonly<Record<string, string | null>> | null;

/** The faults of `metadata`, or of a patch of it. */
export function faultsOfMetadata(metadata: MetadataPatch | undefined): Fault[] {
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

/** Refuses metadata that a patch has made too large. */
export function refuseTooManyKeys(metadata: Metadata | null, doing: string): void {
  if (Object.keys(metadata ?? {}).length <= mostKeys) return;
  throw new Refusal("validation_error", `Cannot ${doing}: "metadata" ${tooManyKeys.detail}`, { faults: [tooManyKeys] });
}

/** The metadata after a patch; null for none. */
export function patchedMetadata(before: Metadata | null, patch: MetadataPatch | undefined): Metadata | null {
  if (patch === undefined) return before;
  const kept = Object.entries({ ...(patch === null ? {} : before), ...patch }).filter(([, value]) => value !== null);
  return kept.length === 0 ? null : (Object.fromEntries(kept) as Metadata);
}

const mostKeys = 20;
const tooManyKeys = { pointer: "#/metadata", detail: `must have at most ${mostKeys} keys` };
const longestValue = 500;
/** The form of a key. `__proto__` is not allowed, because an assignment to it sets the prototype of an object instead of a field. */
const metadataKey = /^(?!__proto__$)[A-Za-z0-9_.-]{1,40}$/;
