import { join } from "node:path";
import type { Config } from "../config.ts";
import type { DnsClient } from "../dns/client.ts";
import type { RecordType, RecordValues } from "../dns/records.ts";
import type { CustomHeader } from "../domain/message.ts";
import { noticeMarks } from "../domain/reports/notice-source.ts";
import { keepsWhenAsked } from "../domain/send/wire-name.ts";
import type { Deps } from "../flows/deps.ts";
import { mailMeasure } from "../flows/send/measure-mail.ts";
import { emailSender } from "../flows/send/send-email.ts";
import { unsubscribeFields } from "../flows/send/unsubscribe-fields.ts";
import type { UploadLimits } from "../flows/send/write-files.ts";
import { type DkimSigner, dkimSigner } from "../mail/write/dkim.ts";
import { privateKeyPem } from "../mail/write/dkim-key.ts";
import { boundedMemory } from "../primitives/memory.ts";
import { directRelay } from "../relay/direct.ts";
import type { MailResolver } from "../relay/mx.ts";
import { type Relay, smtpRelay, withinTime } from "../relay/relay.ts";
import { sandboxRelay } from "../relay/sandbox.ts";
import { rowOfDomainKey } from "../store/account/sealed-secrets.ts";
import { version } from "../version.ts";
import { type WebhookClient, webhookClient } from "../webhook/client.ts";
import type { RelayEmailDeps } from "../workers/relay-email.ts";
import type { Simulator } from "../workers/simulator.ts";
import { withOtherCells } from "./cells.ts";
import type { Opening } from "./opening.ts";
import type { Receiving } from "./receiving.ts";
import type { TimeAndChance } from "./time-and-chance.ts";

export function openWebhooks({ config, opened }: Opening): WebhookClient {
  const webhooks = webhookClient({
    allowPrivate: config.allowPrivateWebhooks,
    timeoutMs: config.webhookTimeoutMs,
    version,
  });
  opened.push(webhooks.close);
  return webhooks;
}

export function openRelay({ config, deps, dns, opened }: Opening, simulator: Simulator | undefined): Relay {
  const way = withOtherCells({ config, deps, opened }, wayOut(config, deps, dns), mailResolver(dns));
  const relay = simulator?.around(way) ?? way;
  opened.push(relay.close);
  // The last pushed is closed first, and closing twice changes nothing: DNS must end before the relay, because the relay waits for its
  // mails, and those must not wait for a name server.
  opened.push(dns.close);
  return relay;
}

/** Makes the DKIM signer. Undefined if no DKIM key is configured, so that mail goes out unsigned. */
export async function signerOf({ dkim, mailDomain }: Config): Promise<DkimSigner | undefined> {
  return dkim && dkimSigner({ domain: mailDomain, ...dkim });
}

/**
 * Makes the function that finds the signer of a mail: that of its own domain, or of MAIL_DOMAIN. It remembers the signers of own domains,
 * because reading a key takes longer than signing.
 */
export async function mailSigners(
  config: Config,
  { sealing }: Pick<Deps, "sealing">,
): Promise<RelayEmailDeps["signMail"]> {
  const ofService = await signerOf(config);
  const known = boundedMemory<string, Promise<DkimSigner>>(mostSigners);
  return async (key) => {
    if (key === undefined) return ofService;
    const row = rowOfDomainKey(key);
    const signer =
      known.get(row) ?? dkimSigner({ ...key, privateKeyPem: privateKeyPem(sealing.open(key.privateKey, row)) });
    known.set(row, signer);
    return signer;
  };
}

/** The most signers to have in memory. One takes a few kilobytes. */
const mostSigners = 2_000;

/** The header fields that only the relay reads and removes. Direct delivery has none, because nobody would remove them. */
export function relayHeadersOf({ outbound, relayNotices }: Config): (messageId: string) => readonly CustomHeader[] {
  const keeping = keepsWhenAsked(outbound) ? [{ name: "X-PM-KeepID", value: "true" }] : [];
  const provider = outbound.kind === "direct" ? undefined : relayNotices?.provider;
  return (messageId) => [...keeping, ...noticeMarks(provider, messageId)];
}

/** Makes the verb that sends: what comes by HTTP now and what the clock dispatches go through it alike. */
export async function openSender(
  { config, deps, rules }: Pick<Opening, "config" | "deps" | "rules">,
  { htmlOfMarkdown, unsubscribeNames: names }: Pick<Receiving, "htmlOfMarkdown" | "unsubscribeNames">,
  baseUrl: () => string,
): Promise<SendEmail> {
  const signing = await signerOf(config);
  const mailLimit = mailMeasure(config.sendMaxBytes, {
    signing,
    mailDomain: config.mailDomain,
    relayHeaders: relayHeadersOf(config),
  });
  const addUnsubscribeFields = unsubscribeFields({ names, baseUrl, signsMailDomain: signing !== undefined });
  const { openDrafts: openDraftsMax, approvalHours } = config;
  const sending = { ...deps, mailLimit, addUnsubscribeFields, rules, openDraftsMax, approvalHours };
  return emailSender(sending, htmlOfMarkdown);
}

export type SendEmail = ReturnType<typeof emailSender>;

const hourMs = 3_600_000;

export function uploadLimits({ sendMaxBytes, uploadsMaxBytes, uploadTtlHours }: Config): UploadLimits {
  return { sendMaxBytes, uploadsMaxBytes, uploadTtlMs: uploadTtlHours * hourMs };
}

/** Makes the relay that OUTBOUND chooses: an SMTP relay, direct delivery, or the sandbox. */
function wayOut(config: Config, { now, random }: Pick<TimeAndChance, "now" | "random">, dns: DnsClient): Relay {
  const { outbound, smtpHostname: hostname } = config;
  if (outbound.kind === "smtp") return withinTime(smtpRelay(outbound, { hostname }));
  if (outbound.kind === "direct") return directRelay({ hostname, resolver: mailResolver(dns), random });
  return sandboxRelay({ directory: join(config.dataDir, "sandbox"), now });
}

/**
 * Makes the resolver for direct delivery. Its look-ups return an empty list if there are no records, and reject only if the look-up fails.
 */
export function mailResolver({ ask }: Pick<DnsClient, "ask">): MailResolver {
  async function recordsOf<Type extends RecordType>(name: string, type: Type): Promise<RecordValues[Type][]> {
    const answer = await ask(name, type);
    if (answer.kind === "unknown") throw new Error(answer.reason);
    return answer.kind === "found" ? [...answer.records] : [];
  }
  return {
    resolveMx: (domain) => recordsOf(domain, "MX"),
    resolve4: (name) => recordsOf(name, "A"),
    resolve6: (name) => recordsOf(name, "AAAA"),
  };
}
