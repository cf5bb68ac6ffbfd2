import { appendFileSync } from "node:fs";

/** The result of a benchmark: one line of the table in docs/performance.md. */
export interface Result {
  /** The name of the line within its benchmark. */
  what: string;
  value: number;
  unit: string;
  /** The peers of the same run, the most important first. */
  beside?: readonly Peer[];
  /** The wanted ratio to the first peer or to each of the first, and the wanted value. */
  target?: { ratio?: Bound | readonly Bound[]; value?: Bound };
  note?: string;
}

export interface Peer {
  name: string;
  /** In the unit of the result. */
  value: number;
  /** Our value in multiples of the peer's, if it does not follow from the two values. */
  ratio?: number;
}

export type Bound = { atLeast: number } | { atMost: number };

/** A line of the file that BENCH_RESULTS names. */
export type Line = { kind: "result"; result: Result } | { kind: "skipped"; what: string; why: string };

/** Prints a result, and passes it to bench/all.ts if that has started the benchmark. */
export function report(result: Result): void {
  const parts = [...shownPeers(result), shownValue(result), shownTarget(result), result.note ?? ""];
  process.stdout.write(`${result.what}: ${parts.filter((part) => part !== "").join("; ")}\n`);
  append({ kind: "result", result });
}

/** Reports that something could not be measured here, and why. */
export function reportSkipped(what: string, why: string): void {
  process.stdout.write(`${what}: skipped, ${why}\n`);
  append({ kind: "skipped", what, why });
}

export function shownPeers({ value, unit, beside = [] }: Result): string[] {
  return beside.map((peer) => `${ratioTo(peer, value).toFixed(2)} × ${peer.name} (${shownNumber(peer.value)} ${unit})`);
}

export function shownValue({ value, unit }: Result): string {
  return `${shownNumber(value)} ${unit}`;
}

/** `≥ 0.50 ×, met`; empty without a wanted value. */
export function shownTarget({ value, beside = [], target }: Result): string {
  const wanted: [bound: string, isMet: boolean][] = [];
  for (const [index, bound] of [target?.ratio ?? []].flat().entries()) {
    const peer = beside[index];
    if (peer === undefined) continue;
    wanted.push([`${shownBound(bound, (number) => number.toFixed(2))} ×`, meets(ratioTo(peer, value), bound)]);
  }
  if (target?.value) wanted.push([shownBound(target.value, shownNumber), meets(value, target.value)]);
  return wanted.map(([bound, isMet]) => `${bound} ${isMet ? "met" : "MISSED"}`).join(", ");
}

function ratioTo({ ratio, value: theirs }: Peer, value: number): number {
  return ratio ?? value / theirs;
}

function meets(value: number, bound: Bound): boolean {
  return "atLeast" in bound ? value >= bound.atLeast : value <= bound.atMost;
}

function shownBound(bound: Bound, shown: (number: number) => string): string {
  return "atLeast" in bound ? `≥ ${shown(bound.atLeast)}` : `≤ ${shown(bound.atMost)}`;
}

/** Three significant digits, the precision of a benchmark. */
function shownNumber(number: number): string {
  if (!Number.isFinite(number)) return "–";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(number), 0.01))));
  return number.toLocaleString("en-US", { maximumFractionDigits: digits });
}

function append(line: Line): void {
  const path = process.env.BENCH_RESULTS;
  if (path !== undefined) appendFileSync(path, `${JSON.stringify(line)}\n`);
}
