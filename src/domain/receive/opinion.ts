import type { Spam } from "./authentication.ts";

/** The actions that the operator's judge can choose for a mail: to file it, to quarantine it, or to refuse it. */
export const judgeActions = ["take", "quarantine", "refuse"] as const;
export type JudgeAction = (typeof judgeActions)[number];

/** JUDGE_FAILS: the action for mail about which the judge gives no opinion in time. */
export const judgeFailures = ["take", "quarantine"] as const satisfies readonly JudgeAction[];

/** The opinion of the operator's judge about a mail. */
export interface Opinion {
  action: JudgeAction;
  /** The words of the judge for the log, on one line. */
  reason?: string | undefined;
  /** Undefined if the judge gives no score. */
  spam: Spam | undefined;
}
