import { type BounceType, type ReportKind, reportKinds } from "./report.ts";

export const reportSources = ["dsn", "arf", "relay"] as const;
export const reportProofs = ["return_path", "message_id", "relay"] as const;

/** The worst report about a message or a recipient, in the form of the database column and of the API. */
export interface Delivery {
  state: ReportKind;
  /** Null unless it bounced. */
  type: BounceType | null;
  code: number | null;
  enhancedCode: string | null;
  diagnostic: string | null;
  remoteMta: string | null;
  source: (typeof reportSources)[number];
  proof: (typeof reportProofs)[number];
  reportId: string;
  /** An instant as JSON has it. */
  at: string;
}

interface Ranked {
  kind: ReportKind | undefined;
  type: BounceType | undefined;
}

/** Whether a later report replaces the known one. It does if its kind is worse, in the order of `reportKinds`. */
export function outranks(later: ReportKind, known: ReportKind | undefined): boolean {
  return known === undefined || reportKinds.indexOf(later) > reportKinds.indexOf(known);
}

/** Whether the first type of bounce is worse than the second. Only a `hard` bounce suppresses its recipient. */
export function isHarder(type: BounceType | undefined, known: BounceType | undefined): boolean {
  return hardness(type) > hardness(known);
}

/** The worst of these reports; undefined if there is none. */
export function worstOf<One extends Ranked>(all: readonly One[]): One | undefined {
  return all.reduce<One | undefined>(
    (worst, one) => (worst === undefined || isWorse(one, worst) ? one : worst),
    undefined,
  );
}

function isWorse(one: Ranked, other: Ranked): boolean {
  const [rank, otherRank] = [rankOf(one), rankOf(other)];
  return rank > otherRank || (rank === otherRank && isHarder(one.type, other.type));
}

function rankOf({ kind }: Ranked): number {
  return kind === undefined ? -1 : reportKinds.indexOf(kind);
}

function hardness(type: BounceType | undefined): number {
  return type === undefined ? -1 : softestFirst.indexOf(type);
}

const softestFirst: readonly BounceType[] = ["unknown", "soft", "block", "hard"];
