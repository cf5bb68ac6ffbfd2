/** What a mail is that no person wrote, by the first kind that fits. */
export type AutomatedKind =
  | "delivery_report"
  | "disposition_report"
  | "complaint_report"
  | "auto_reply"
  | "list"
  | "bulk"
  | "notification";

/** That a mail shows signs of a robot, and which. */
export interface Automated {
  kind: AutomatedKind;
  /** Lower-case names of what told. */
  reasons: string[];
}
