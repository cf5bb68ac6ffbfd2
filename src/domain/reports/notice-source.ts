import type { CustomHeader } from "../message.ts";

/** The relay that sends notices about our mail, with the secret that proves them (`RELAY_NOTICES`). */
export type NoticeSource =
  | { provider: "ses"; topics: readonly string[] }
  | { provider: "mailgun"; signingKey: string }
  /** DER in base64, as SendGrid shows it. */
  | { provider: "sendgrid"; publicKey: string }
  | { provider: "resend"; secret: string }
  | { provider: "postmark"; user: string; password: string }
  | { provider: "generic"; token: string };

export const noticeProviders = ["ses", "mailgun", "sendgrid", "resend", "postmark", "generic"] as const;

/** Parses RELAY_NOTICES. Returns a fault as the end of a sentence that begins with this name. The fault never repeats the secret. */
export function parseNoticeSource(text: string): NoticeSource | string {
  const colon = text.indexOf(":");
  const provider = text.slice(0, Math.max(colon, 0));
  const rest = text.slice(colon + 1).trim();
  switch (provider) {
    case "ses": {
      const topics = rest.split(",").map((topic) => topic.trim());
      if (topics.every((topic) => topicShape.test(topic))) return { provider, topics };
      return "must have topic ARNs after ses:, separated by commas (arn:aws:sns:us-east-1:123456789012:bounces)";
    }
    case "mailgun":
      return isSecret(rest) ? { provider, signingKey: rest } : "must have the webhook signing key after mailgun:";
    case "sendgrid":
      return publicKeyShape.test(rest)
        ? { provider, publicKey: rest }
        : "must have the verification key after sendgrid:, in base64 as SendGrid shows it";
    case "resend":
      return secretShape.test(rest)
        ? { provider, secret: rest }
        : "must have the signing secret after resend: (whsec_…)";
    case "postmark":
      return basicOf(rest);
    case "generic":
      return isSecret(rest)
        ? { provider, token: rest }
        : "must have a token of 20 to 512 visible characters after generic:";
    default:
      return `must begin with ${noticeProviders.map((name) => `${name}:`).join(", ")}`;
  }
}

function basicOf(rest: string): NoticeSource | string {
  const colon = rest.indexOf(":");
  const [user, password] = [rest.slice(0, Math.max(colon, 0)), rest.slice(colon + 1)];
  if (user === "" || !isSecret(password)) {
    return "must have user:password after postmark:, with a password of 20 to 512 visible characters";
  }
  return { provider: "postmark", user, password };
}

const topicShape = /^arn:aws(?:-[a-z]{1,10}){0,2}:sns:[a-z0-9-]{5,30}:\d{12}:[A-Za-z0-9_-]{1,256}(?:\.fifo)?$/;
const publicKeyShape = /^[A-Za-z0-9+/]{80,400}={0,2}$/;
const secretShape = /^whsec_[A-Za-z0-9+/]{32,512}={0,2}$/;

/** Whether the text has the form of a secret: 20 to 512 visible ASCII characters. */
function isSecret(text: string): boolean {
  return /^[\x21-\x7e]{20,512}$/.test(text);
}

/** The AWS region of an SNS topic, which is part of the host names of SNS in that region. */
export function regionOfTopic(topic: string): string {
  return topic.split(":")[3] ?? "";
}

/** The provider of a relay host, if it reports bounces only by webhook and never by mail. */
export function providerOfHost(host: string): NoticeSource["provider"] | undefined {
  return byWebhookAlone.find(([shape]) => shape.test(host))?.[1];
}

const byWebhookAlone: readonly [RegExp, NoticeSource["provider"]][] = [
  [/(?:^|\.)postmarkapp\.com$/, "postmark"],
  [/(?:^|\.)sendgrid\.net$/, "sendgrid"],
  [/(?:^|\.)mailgun\.org$/, "mailgun"],
  [/(?:^|\.)resend\.com$/, "resend"],
];

/** The header with the id of the message, if the relay repeats such a header in its notices. Otherwise empty. */
export function noticeMarks(provider: NoticeSource["provider"] | undefined, messageId: string): CustomHeader[] {
  if (provider === "sendgrid") {
    return [{ name: "X-SMTPAPI", value: JSON.stringify({ unique_args: { inboxd: messageId } }) }];
  }
  return provider === "postmark" ? [{ name: "X-PM-Metadata-inboxd", value: messageId }] : [];
}
