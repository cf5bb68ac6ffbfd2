import { sha256Hex } from "../standards/digest.ts";

/**
 * Where a list goes on. It names the last message that was shown, by its number, so mail that arrives meanwhile moves
 * nothing; and the question that it belongs to, since in another list the number would mean another place.
 */
export function cursorAt(position: number, question: unknown): string {
  return Buffer.from(`1.${position}.${fingerprint(question)}`).toString("base64url");
}

/** The number in a cursor of this very question; `undefined` when it is of another one, or no cursor at all. */
export function positionOf(cursor: string, question: unknown): number | undefined {
  const [, position, print] = /^1\.([1-9]\d{0,9})\.([0-9a-f]{16})$/.exec(decoded(cursor)) ?? [];
  return position !== undefined && print === fingerprint(question) ? Number(position) : undefined;
}

export function isCursor(text: string): boolean {
  return /^1\.[1-9]\d{0,9}\.[0-9a-f]{16}$/.test(decoded(text));
}

function decoded(cursor: string): string {
  return /^[A-Za-z0-9_-]{1,64}$/.test(cursor) ? Buffer.from(cursor, "base64url").toString("latin1") : "";
}

function fingerprint(question: unknown): string {
  return sha256Hex(JSON.stringify(question)).slice(0, 16);
}
