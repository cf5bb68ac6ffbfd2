import { reportKinds } from "../domain/reports/report.ts";
import type { KeptReport, ReportSource } from "../domain/reports/reported-message.ts";
import type { ReturnedOutcome } from "../flows/receive/accept-returned.ts";
import type { Registry } from "./registry.ts";

/** Told of what comes back about our mail. */
export interface ReportObserver {
  reported?(report: KeptReport): void;
  returned?(outcome: ReturnedOutcome): void;
  /** Of one whose wish kept mail from him that was not kept from him before. */
  unsubscribed?(way: ReportSource): void;
}

export function reportObserver(metrics: Registry): Required<ReportObserver> {
  const reports = metrics.counter(
    "inboxd_reports_total",
    "Reports about mail of ours that said something new, by what they said and how it was proven",
    ["kind", "type", "source", "proof"],
  );
  const mails = metrics.counter(
    "inboxd_return_path_mails_total",
    "Mails to return paths: report, mail (it was not shown to be a report, and filed), refused (not ours, too old, or gone)",
    ["outcome"],
  );
  const unsubscribes = metrics.counter(
    "inboxd_unsubscribes_total",
    "Recipients who want no more mail of an inbox, by how they said so: arf (a report by mail), relay (a notice)",
    ["way"],
  );
  for (const way of ["arf", "relay"]) unsubscribes({ way });
  for (const kind of reportKinds) {
    reports({ kind, type: kind === "bounced" ? "hard" : "", source: "dsn", proof: "return_path" });
  }
  for (const outcome of ["report", "mail", "refused"]) mails({ outcome });
  return {
    reported: ({ kind, type, source, proof }) => reports({ kind, type: type ?? "", source, proof }).add(),
    returned: (outcome) => mails({ outcome }).add(),
    unsubscribed: (way) => unsubscribes({ way }).add(),
  };
}
