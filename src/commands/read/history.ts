import type { Schemas } from "../../../sdk/typescript/src/inboxd.ts";
import { type Calendar, fullTime } from "../short-time.ts";
import { print } from "../terminal.ts";
import { shownFailure } from "./status.ts";

type Entry = Schemas["MessageHistory"]["data"][number];

/** The history of a message, one row for each step. */
export function historyRows({ data, truncated }: Schemas["MessageHistory"], calendar: Calendar): object[] {
  if (truncated) print("Steps behind the first one are left out\n", process.stderr);
  return data.map((entry) => {
    const [whom, result] = about(entry, calendar);
    return { time: fullTime(entry.at, calendar), what: entry.what.replaceAll("_", " "), whom, result };
  });
}

/** The recipient or endpoint of a step, and its result. */
function about(entry: Entry, calendar: Calendar): [whom: string, result: string] {
  switch (entry.what) {
    case "received":
      return [entry.envelope.to, arrival(entry)];
    case "scheduled":
      return ["", `for ${fullTime(entry.sendAt, calendar)}`];
    case "approval_requested":
      return [entry.newRecipients.join(", "), entry.reasons.join(", ").replaceAll("_", " ")];
    case "approved":
    case "rejected":
      return [entry.by?.address ?? entry.by?.key ?? "", entry.reason ?? ""];
    case "attempted":
      return [entry.recipient, `${entry.outcome.replace("_", " ")}: ${shownFailure(entry)}${byServer(entry)}`];
    case "failed":
      return ["", shownFailure(entry.failure)];
    case "told":
      return [entry.webhookId ?? "", `${entry.event}: ${entry.error ?? entry.status}`];
    case "read":
    case "unread":
      return [entry.by?.name ?? entry.by?.type ?? "", ""];
    case "delayed":
    case "delivered":
    case "bounced":
    case "complained":
      return [entry.recipient ?? "", shownFailure({ ...entry, message: entry.diagnostic ?? "" })];
    default:
      return ["", ""];
  }
}

function arrival({ envelope, clientAddress, verdict }: Extract<Entry, { what: "received" }>): string {
  const by = clientAddress === null ? "" : ` by ${clientAddress}`;
  return `from ${envelope.from || "<>"}${by}${verdict === null ? "" : `, verdict ${verdict}`}`;
}

function byServer({ host, tls }: Extract<Entry, { what: "attempted" }>): string {
  return host === null ? "" : ` (${tls === null ? host : `${host}, ${tls}`})`;
}
