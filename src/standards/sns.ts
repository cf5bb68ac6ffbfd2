import { verify, X509Certificate } from "node:crypto";

/** A message of Amazon's Simple Notification Service over HTTP. */
export interface SnsMessage {
  Type: "Notification" | "SubscriptionConfirmation" | "UnsubscribeConfirmation";
  MessageId: string;
  TopicArn: string;
  Message: string;
  Timestamp: string;
  SignatureVersion: "1" | "2";
  Signature: string;
  SigningCertURL: string;
  Subject?: string;
  Token?: string;
  SubscribeURL?: string;
}

/** The value as a message, or undefined if it lacks a signed field. */
export function snsMessage(value: unknown): SnsMessage | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const fields = value as Record<string, unknown>;
  const isText = (name: string) => Object.hasOwn(fields, name) && typeof fields[name] === "string";
  const type = isText("Type") ? (fields.Type as string) : "";
  if (!Object.hasOwn(signedFields, type) || !(fields.SignatureVersion === "1" || fields.SignatureVersion === "2")) {
    return undefined;
  }
  const needed = [...signedFields[type as SnsMessage["Type"]], "Signature", "SigningCertURL"];
  if (!needed.every((name) => isText(name) || (name === "Subject" && (fields.Subject ?? null) === null)))
    return undefined;
  return value as SnsMessage;
}

/** The signed fields of each type of message, in the order in which they are signed. The subject is optional. */
const signedFields = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
} as const;

export function snsSignedText(message: SnsMessage): string {
  const present = signedFields[message.Type].filter((name) => typeof message[name] === "string");
  return present.map((name) => `${name}\n${message[name]}\n`).join("");
}

/**
 * True if the message was signed with the key of this certificate, and the certificate is valid now. The caller checks that the
 * certificate comes from an address of SNS (`snsCertificateAddress`).
 */
export function isSnsSignature(message: SnsMessage, certificatePem: string, now: Date): boolean {
  try {
    const certificate = new X509Certificate(certificatePem);
    if (now < new Date(certificate.validFrom) || now > new Date(certificate.validTo)) return false;
    const digest = message.SignatureVersion === "1" ? "sha1" : "sha256";
    const signature = Buffer.from(message.Signature, "base64");
    return verify(digest, Buffer.from(snsSignedText(message)), certificate.publicKey, signature);
  } catch {
    // It is no certificate, or its key has another type.
    return false;
  }
}

/**
 * Returns the URL if its host is that of SNS in this region; otherwise undefined. The text is compared, not the parsed URL, because URL
 * parsers differ, and after an error we would trust another host.
 */
export function snsAddress(text: string | undefined, region: string): string | undefined {
  if (text === undefined || text.length > 2048 || !/^[a-z0-9-]{5,30}$/.test(region)) return undefined;
  const hosts = [`https://sns.${region}.amazonaws.com/`, `https://sns.${region}.amazonaws.com.cn/`];
  if (!hosts.some((host) => text.startsWith(host)) || !/^[!-~]+$/.test(text) || /[\\#]/.test(text)) return undefined;
  return text;
}

/**
 * Returns the URL if it is that of a certificate file of SNS; otherwise undefined. The URL of an SNS operation is refused, because its
 * response may repeat parts of the request.
 */
export function snsCertificateAddress(text: string | undefined, region: string): string | undefined {
  const address = snsAddress(text, region);
  return address !== undefined && /^https:\/\/[a-z0-9.-]{1,100}\/[A-Za-z0-9_-]{1,200}\.pem$/.test(address)
    ? address
    : undefined;
}
