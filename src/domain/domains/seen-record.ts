/** A DNS record of a domain as a check found it. */
export interface SeenRecord {
  purpose: "dkim" | "mx" | "return_path" | "dmarc";
  name: string;
  status: "valid" | "missing" | "invalid" | "unknown";
  problem: RecordProblem | null;
  /** What was found there, at most 5 values of at most 512 characters. */
  found: readonly string[];
}

export const recordProblems = [
  "doubled_name",
  "quoted",
  "truncated",
  "several",
  "other_value",
  "revoked",
  "other_server",
  "alias",
  "proxied",
  "not_everywhere",
  "wildcard",
  "taken",
  "no_answer",
] as const;

export type RecordProblem = (typeof recordProblems)[number];
