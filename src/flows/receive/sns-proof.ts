import { Refusal } from "../../domain/errors.ts";
import { regionOfTopic } from "../../domain/reports/notice-source.ts";
import { boundedMemory } from "../../primitives/memory.ts";
import { isSnsSignature, type SnsMessage, snsAddress, snsCertificateAddress, snsMessage } from "../../standards/sns.ts";

export interface SnsDeps {
  now: () => Date;
  /** Fetches a URL of SNS by the guarded client; undefined if that fails. */
  fetchFromSns: (url: string) => Promise<string | undefined>;
}

/**
 * Checks that an SNS message belongs to one of our topics. Returns the published text; undefined if the message is about the subscription.
 */
export type SnsProof = (value: unknown) => Promise<string | undefined>;

const mostCertificates = 20;
/** The most certificates that are fetched at the same time. It is low, because any stranger can send a message that names a new one. */
const mostFetches = 4;

export function snsProof({ now, fetchFromSns }: SnsDeps, topics: readonly string[]): SnsProof {
  const certificates = boundedMemory<string, string>(mostCertificates);
  /** The fetches that are under way, by URL. Failed ones are not remembered, because they would push certificates out of memory. */
  const fetches = new Map<string, Promise<string | undefined>>();

  async function certificateAt(url: string): Promise<string | undefined> {
    return certificates.get(url) ?? fetches.get(url) ?? (fetches.size < mostFetches ? fetched(url) : undefined);
  }

  function fetched(url: string): Promise<string | undefined> {
    const fetching = fetchFromSns(url)
      .then((pem) => {
        if (pem !== undefined) certificates.set(url, pem);
        return pem;
      })
      .finally(() => fetches.delete(url));
    fetches.set(url, fetching);
    return fetching;
  }

  async function refuseUnsigned(message: SnsMessage): Promise<void> {
    // Checks the topic first, so that most forged messages cause no fetch.
    if (!topics.includes(message.TopicArn)) throw forgedNotice("the topic is not one of RELAY_NOTICES");
    const url = snsCertificateAddress(message.SigningCertURL, regionOfTopic(message.TopicArn));
    if (url === undefined) throw forgedNotice("the URL of the certificate is not at SNS in the topic's region");
    const certificate = await certificateAt(url);
    if (certificate === undefined) throw laterNotice("the certificate of SNS can't be fetched now");
    if (!isSnsSignature(message, certificate, now())) throw forgedNotice("the signature is wrong");
  }

  return async (value) => {
    const message = snsMessage(value);
    if (message === undefined) throw forgedNotice("it is not a signed SNS message");
    await refuseUnsigned(message);
    if (message.Type === "Notification") return message.Message;
    if (message.Type === "SubscriptionConfirmation") {
      const url = snsAddress(message.SubscribeURL, regionOfTopic(message.TopicArn));
      if (url === undefined) throw forgedNotice("the URL of the confirmation is not at SNS in the topic's region");
      if ((await fetchFromSns(url)) === undefined) throw laterNotice("the subscription can't be confirmed now");
    }
    return undefined;
  };
}

export function forgedNotice(why: string, challenge?: "Basic" | "Bearer"): Refusal {
  return new Refusal("unauthorized", `Cannot take notices: ${why}`, {
    ...(challenge !== undefined && { headers: { "www-authenticate": challenge } }),
  });
}

/** Refuses notices for now. Relays send them again for hours. */
export function laterNotice(why: string): Refusal {
  return new Refusal("service_unavailable", `Cannot take notices: ${why}`, { retryAfterSeconds: 60 });
}
