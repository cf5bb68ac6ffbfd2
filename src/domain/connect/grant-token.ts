import { isId } from "../ids.ts";

/**
 * A code or a refresh token of a grant. It has the number of its turn: the code is the first, and each exchange makes the next
 * one. A grant knows only its current turn, so nothing is stored that opens it, and a token of an earlier turn is recognised.
 */
export interface GrantTurn {
  grantId: string;
  /** 0 for the code. */
  turn: number;
}

/** How long a code is valid. */
export const codeMs = 60_000;
/** How long a refresh token is valid after its last use. */
export const refreshMs = 30 * 86_400_000;
/** How long the refresh token before the current one is answered again, because an answer may get lost. */
export const repeatableMs = 30_000;
/** How long an access token is valid. */
export const accessSeconds = 3_600;

const codePrefix = "ibc_";
const refreshPrefix = "ibr_";

/** The text that is signed. It has characters that no other signed text of this key has. */
export function signedTurn({ grantId, turn }: GrantTurn): string {
  return `grant:${grantId}:${turn}`;
}

export function writeTurn({ grantId, turn }: GrantTurn, signature: string): string {
  return `${turn === 0 ? codePrefix : refreshPrefix}${grantId.slice(4)}_${turn}_${signature}`;
}

const form = /^(ib[cr]_)([0-9a-z]{26})_(0|[1-9]\d{0,9})_([A-Za-z0-9_-]{43})$/;

/** Splits a code or a refresh token. Undefined if the text is neither. */
export function parseTurn(text: string): (GrantTurn & { signature: string }) | undefined {
  const [, prefix, id, number = "", signature = ""] = form.exec(text) ?? [];
  const grantId = `grt_${id}`;
  const turn = Number(number);
  if (id === undefined || !isId("grt", grantId) || (prefix === codePrefix) !== (turn === 0)) return undefined;
  return { grantId, turn, signature };
}

/** The state of a grant, as far as a code or a refresh token is judged by it. */
export interface TurnState {
  turn: number;
  /** When the current code or refresh token ends. */
  turnEndsAt: Date;
  turnedAt: Date;
}

/** `next`: the token is used, and the next one is made. `again`: its answer may have been lost, and is repeated. `reused`: somebody else has it. */
export function judgeTurn(
  { turn, turnEndsAt, turnedAt }: TurnState,
  asked: number,
  now: Date,
): "next" | "again" | "ended" | "reused" {
  if (asked === turn) return now < turnEndsAt ? "next" : "ended";
  const isRepeatable = asked > 0 && asked === turn - 1 && now.getTime() < turnedAt.getTime() + repeatableMs;
  return isRepeatable ? "again" : "reused";
}
