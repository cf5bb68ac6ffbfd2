import type { AuthenticateChoice, Authentication } from "../../domain/receive/authentication.ts";
import type { InboundMail } from "../../domain/receive/inbound-mail.ts";
import type { MailToAuthenticate } from "../../mail/authenticate/authenticate.ts";
import { type SenderHost, senderHost } from "../../mail/read/received.ts";
import { isPublicAddress } from "../../standards/ip.ts";
import type { Deps } from "../deps.ts";

/** Authenticates the sender of a mail. It never rejects. The result is undefined if the mail is not checked. */
export type Authenticate = (mail: InboundMail) => Promise<Authentication | undefined>;

export interface AuthenticateDeps extends Pick<Deps, "log"> {
  choice: AuthenticateChoice;
  isSandbox: boolean;
  /** TRUSTED_RELAYS: the addresses and blocks of the operator's mail servers in front. */
  trustedRelays: readonly string[];
  /** Checks a mail within AUTH_TIMEOUT_MS. `sender` is its owner in the queue of the parser. */
  check: (mail: MailToAuthenticate, sender: string) => Promise<Authentication>;
}

/** Mail from one of our inboxes to another is not checked: it never left the service. */
export function senderAuthenticator({ choice, isSandbox, trustedRelays, check, log }: AuthenticateDeps): Authenticate {
  if (choice === "off") return async () => undefined;
  return async ({ envelope: { from, client }, raw }) => {
    if (client === undefined) return internal;
    const host = senderHost(client, raw, trustedRelays);
    if (choice === "auto" && (isSandbox || !isFromOutside(host))) return undefined;
    try {
      return await check({ raw, from, client: host }, client.network);
    } catch (err) {
      log.error({ err }, "sender of a mail not checked: unexpected error");
      return { ...nothingFound, verdict: "temperror", clientAddress: host.address ?? null, tls: host.isTls };
    }
  };
}

/** Whether a host is on the internet. A host with an unknown address is behind a proxy or a relay, where mail from outside comes. */
function isFromOutside({ address }: SenderHost): boolean {
  return address === undefined || isPublicAddress(address);
}

const nothingFound = {
  domain: null,
  internal: false,
  spf: { result: "none", domain: null, aligned: false },
  dkim: [],
  dmarc: { result: "none", policy: null },
  arc: { result: "none", sealers: [] },
  source: "checked",
  clientAddress: null,
  tls: false,
} satisfies Omit<Authentication, "verdict">;

const internal: Authentication = { ...nothingFound, verdict: "pass", internal: true };
