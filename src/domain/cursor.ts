import { sha256Hex } from "../standards/digest.ts";
import { latestInstant } from "../standards/instant.ts";

/**
 * The cursor of a list, for its next page. It contains the number of the last message shown, so that new mail does not shift the list, and
 * a fingerprint of the query, so that the cursor is refused for another list, where the number means another message.
 */
export function cursorAt(seq: number, query: unknown): string {
  return Buffer.from(`1.${seq}.${fingerprint(query)}`).toString("base64url");
}

/** The number in a cursor of this query; `undefined` for another query or an invalid cursor. Callers may forge any number, so it is bounded. */
export function seqOf(cursor: string, query: unknown): number | undefined {
  const [, seq = "", print] = /^1\.([1-9]\d{0,9})\.([0-9a-f]{16})$/.exec(decoded(cursor)) ?? [];
  return print === fingerprint(query) && BigInt(seq) <= mostOf.integer ? Number(seq) : undefined;
}

/** The largest value of each kind of number in a cursor: that of the column with which it is compared. */
const mostOf = {
  integer: 2n ** 31n - 1n,
  instant: BigInt(latestInstant.getTime()),
  transaction: 2n ** 64n - 1n,
  /** For rows that have an id and no number. */
  none: 0n,
};

export type RowNumber = keyof typeof mostOf;

/** The number and id of a row, for lists in which the number is not unique. */
export interface RowKey {
  number: string;
  /** The id, or empty. */
  id: string;
}

/** The cursor of a list whose rows have no unique number. */
export function cursorAtRow({ number, id }: RowKey, query: unknown): string {
  return Buffer.from(`2.${number}.${id}.${fingerprint(query)}`).toString("base64url");
}

/** The row in a cursor by `cursorAtRow`. `undefined` for another query, an invalid cursor or a number above the limit. */
export function rowOf(cursor: string, query: unknown, numbered: RowNumber): RowKey | undefined {
  const [, number = "", id = "", print] = rowCursor.exec(decoded(cursor)) ?? [];
  return print === fingerprint(query) && BigInt(number) <= mostOf[numbered] ? { number, id } : undefined;
}

export function isCursor(text: string): boolean {
  const plain = decoded(text);
  return /^1\.[1-9]\d{0,9}\.[0-9a-f]{16}$/.test(plain) || rowCursor.test(plain);
}

const rowCursor = /^2\.(0|[1-9]\d{0,19})\.([a-z0-9_]{0,30}(?:\.[a-z0-9_]{1,30})?)\.([0-9a-f]{16})$/;

function decoded(cursor: string): string {
  return /^[A-Za-z0-9_-]{1,140}$/.test(cursor) ? Buffer.from(cursor, "base64url").toString("latin1") : "";
}

function fingerprint(query: unknown): string {
  return sha256Hex(JSON.stringify(query)).slice(0, 16);
}

/**
 * The cursor of a wait: the number of the last inbound mail seen in the inbox. It does not depend on the filters, so a wait with other
 * filters can use it. It stores the number plus one, because a cursor's number is at least 1, and 0 means no mail.
 */
export function waitCursor(inboxId: string, inboundSeq: number): string {
  return cursorAt(inboundSeq + 1, ["wait", inboxId]);
}

/** The number in the cursor of a wait on this inbox. */
export function seqOfWait(inboxId: string, cursor: string): number | undefined {
  const seq = seqOf(cursor, ["wait", inboxId]);
  return seq === undefined ? undefined : seq - 1;
}
