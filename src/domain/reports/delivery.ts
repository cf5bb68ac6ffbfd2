import { type BounceType, type ReportKind, reportKinds } from "./report.ts";

/** What counts, in the order in which one beats the other, whichever of them came first. */
interface Told {
  kind: ReportKind | undefined;
  type: BounceType | undefined;
}

/** Whether the later word changes what is known: a lower state never takes the place of a higher one. */
export function outranks(later: ReportKind, known: ReportKind | undefined): boolean {
  return known === undefined || reportKinds.indexOf(later) > reportKinds.indexOf(known);
}

/** Of two words about one bounce, whether this one says more: `hard` alone has an effect that others have not. */
export function isHarder(type: BounceType | undefined, known: BounceType | undefined): boolean {
  return hardness(type) > hardness(known);
}

/** The worst of them: what a message is told of whose recipients nobody can tell apart. Undefined for none. */
export function worstOf<One extends Told>(all: readonly One[]): One | undefined {
  return all.reduce<One | undefined>(
    (worst, one) => (worst === undefined || isWorse(one, worst) ? one : worst),
    undefined,
  );
}

function isWorse(one: Told, other: Told): boolean {
  const ranks = [one, other].map(({ kind }) => (kind === undefined ? -1 : reportKinds.indexOf(kind)));
  const [rank = -1, otherRank = -1] = ranks;
  return rank > otherRank || (rank === otherRank && isHarder(one.type, other.type));
}

function hardness(type: BounceType | undefined): number {
  return type === undefined ? -1 : softestFirst.indexOf(type);
}

const softestFirst: readonly BounceType[] = ["unknown", "soft", "block", "hard"];
