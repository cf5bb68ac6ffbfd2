import type { Outbound } from "../../domain/outbound.ts";

/** What the DNS should know of us. */
export interface DnsFacts {
  mailDomain: string;
  smtpHostname: string;
  outbound: Outbound;
  dkim: { selector: string; record: string } | undefined;
}
