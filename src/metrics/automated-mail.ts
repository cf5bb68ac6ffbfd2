import { automatedKinds, automatedOf } from "../domain/automated.ts";
import type { MailOutcome } from "../domain/receive/inbound-mail.ts";
import type { ReceivedMail } from "../flows/receive/arrival.ts";
import type { Registry } from "./registry.ts";

export type Receive = (mail: ReceivedMail) => Promise<MailOutcome>;

/** The mails that no person wrote, counted behind the way that all take, also those that were read later. */
export function countingAutomated(metrics: Registry): (receive: Receive) => Receive {
  const mails = metrics.counter(
    "inboxd_mails_automated_total",
    "Mails stored that no person wrote, by what they are; a second copy of one that is there counts too",
    ["kind"],
  );
  for (const kind of automatedKinds) mails({ kind });
  return (receive) => async (received) => {
    const outcome = await receive(received);
    const automated = outcome === "stored" ? automatedOf(received.mail, received.envelope.from) : undefined;
    if (automated !== undefined) mails({ kind: automated.kind }).add();
    return outcome;
  };
}
