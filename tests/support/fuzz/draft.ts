import type { Chance } from "../chance.ts";
import type { ShownDocument, ShownOperation } from "./document.ts";

/**
 * The expected answer, besides that it is documented: a `good` request is not called malformed, a `bad` one is refused, an `odd`
 * one may get any answer.
 */
export type Intent = "good" | "bad" | "odd";

/** A request that is being made. */
export interface Draft {
  operation: ShownOperation;
  method: string;
  path: Record<string, string>;
  query: [name: string, value: string][];
  headers: Record<string, string>;
  json: unknown;
  /** A body that replaces the JSON. */
  body: string | Uint8Array<ArrayBuffer> | undefined;
  /** The query, as it is. */
  tail: string;
}

/** A change to the request. */
export interface Change {
  name: string;
  intent: Intent;
  change(draft: Draft, chance: Chance, document: ShownDocument): void;
}
