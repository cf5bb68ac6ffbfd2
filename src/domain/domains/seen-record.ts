export const recordPurposes = ["dkim", "mx", "return_path", "dmarc"] as const;
export const recordStatuses = ["valid", "missing", "invalid", "unknown"] as const;

/** A DNS record of a domain as a check found it. */
export interface SeenRecord {
  purpose: (typeof recordPurposes)[number];
  name: string;
  status: (typeof recordStatuses)[number];
  problem: RecordProblem | null;
  /** The values that were found there, at most 5 of at most 512 characters. */
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
