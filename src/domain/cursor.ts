import { sha256Hex } from "../standards/digest.ts";
import { latestInstant } from "../standards/instant.ts";

/**
 * Where a list goes on. It names the last message that was shown, by its number, so mail that arrives meanwhile moves
 * nothing; and the question that it belongs to, since in another list the number would mean another place.
 */
export function cursorAt(position: number, question: unknown): string {
  return Buffer.from(`1.${position}.${fingerprint(question)}`).toString("base64url");
}

/**
 * The number in a cursor of this very question; `undefined` when it is of another one, or no cursor at all. Anybody can write one, so
 * the number may be any: what is more than the column can hold is none of ours.
 */
export function positionOf(cursor: string, question: unknown): number | undefined {
  const [, position = "", print] = /^1\.([1-9]\d{0,9})\.([0-9a-f]{16})$/.exec(decoded(cursor)) ?? [];
  return print === fingerprint(question) && BigInt(position) <= mostOf.integer ? Number(position) : undefined;
}

/** Up to which number a place can be, by what its number is. */
const mostOf = {
  integer: 2n ** 31n - 1n,
  instant: BigInt(latestInstant.getTime()),
  transaction: 2n ** 64n - 1n,
  /** Of a place that its id alone tells. */
  none: 0n,
};

export type NumberInPlace = keyof typeof mostOf;

/** A row that is known by a number and an id, where a number alone doesn't say which it is. */
export interface CursorPlace {
  number: string;
  /** Empty where there is none. */
  id: string;
}

/** Where a list goes on whose rows have no number of their own in it. */
export function cursorAtPlace({ number, id }: CursorPlace, question: unknown): string {
  return Buffer.from(`2.${number}.${id}.${fingerprint(question)}`).toString("base64url");
}

/** The same of a place. */
export function placeOf(cursor: string, question: unknown, numbered: NumberInPlace): CursorPlace | undefined {
  const [, number = "", id = "", print] = withPlace.exec(decoded(cursor)) ?? [];
  return print === fingerprint(question) && BigInt(number) <= mostOf[numbered] ? { number, id } : undefined;
}

export function isCursor(text: string): boolean {
  const inWords = decoded(text);
  return /^1\.[1-9]\d{0,9}\.[0-9a-f]{16}$/.test(inWords) || withPlace.test(inWords);
}

const withPlace = /^2\.(0|[1-9]\d{0,19})\.([a-z0-9_]{0,30}(?:\.[a-z0-9_]{1,30})?)\.([0-9a-f]{16})$/;

function decoded(cursor: string): string {
  return /^[A-Za-z0-9_-]{1,140}$/.test(cursor) ? Buffer.from(cursor, "base64url").toString("latin1") : "";
}

function fingerprint(question: unknown): string {
  return sha256Hex(JSON.stringify(question)).slice(0, 16);
}

/**
 * Where a wait has come to in an inbox: up to which number of the mail that came in. The filters are no part of it: who asks for
 * something else next goes on there all the same. One more than the number, for there is a place before the first mail.
 */
export function cursorOfPlace(inboxId: string, place: number): string {
  return cursorAt(place + 1, ["wait", inboxId]);
}

/** The place in a cursor of a wait on this inbox. */
export function placeOfCursor(inboxId: string, cursor: string): number | undefined {
  const position = positionOf(cursor, ["wait", inboxId]);
  return position === undefined ? undefined : position - 1;
}
