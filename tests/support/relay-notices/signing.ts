import { createHmac, createPrivateKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { type SnsMessage, snsSignedText } from "../../../src/standards/sns.ts";
import { settable } from "../clock.ts";
import {
  genericBounce,
  mailgunFailure,
  type Named,
  postmarkBounce,
  resendBounce,
  sendgridBatch,
  sesBounce,
} from "./examples.ts";
import { snsCertificate, snsKey } from "./sns-certificate.ts";

/** A request as a relay makes it. */
export interface Signed {
  headers: Record<string, string>;
  body: string;
}

export const topic = "arn:aws:sns:us-east-1:123456789012:bounces";
export const certificateUrl =
  "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem";
export const certificatePem = snsCertificate;

const mailgunKey = "key-of-mailgun-in-tests-1234";
const resendSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const password = "password-of-postmark-in-tests";
const token = "token-of-generic-in-tests";
const sendgridKeys = generateKeyPairSync("ec", { namedCurve: "P-256" });
const sendgridPublic = sendgridKeys.publicKey.export({ format: "der", type: "spki" }).toString("base64");

export type Provider = "ses" | "mailgun" | "sendgrid" | "resend" | "postmark" | "generic";

/** The value of `RELAY_NOTICES` for each relay. */
export const settings: Record<Provider, string> = {
  ses: `ses:${topic}`,
  mailgun: `mailgun:${mailgunKey}`,
  sendgrid: `sendgrid:${sendgridPublic}`,
  resend: `resend:${resendSecret}`,
  postmark: `postmark:inboxd:${password}`,
  generic: `generic:${token}`,
};

export const signedExamples: Record<Provider, (named: Named) => Signed> = {
  ses: (named) => signedBySns(notification(JSON.stringify(sesBounce(named)))),
  mailgun: (named) => signedByMailgun(mailgunFailure(named)),
  sendgrid: (named) => signedBySendgrid(sendgridBatch(named)),
  resend: (named) => signedByResend(resendBounce(named)),
  postmark: (named) => signedByPostmark(postmarkBounce(named)),
  generic: (named) => signedByToken(genericBounce(named)),
};

export function notification(message: string): Omit<SnsMessage, "Signature"> {
  return {
    Type: "Notification",
    MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    TopicArn: topic,
    Message: message,
    Timestamp: "2012-05-02T00:54:06.655Z",
    SignatureVersion: "1",
    SigningCertURL: certificateUrl,
  };
}

export function subscription(subscribeUrl: string): Omit<SnsMessage, "Signature"> {
  return {
    Type: "SubscriptionConfirmation",
    MessageId: "165545c9-2a5c-472c-8df2-7ff2be2b3b1b",
    Token: "2336412f37fb687f5d51e6e241d09c805a5a57b30d712f794cc5f6a988666d92768dd60a747ba6f3beb71854e285d6ad",
    TopicArn: topic,
    Message: "You have chosen to subscribe to the topic.\nTo confirm the subscription, visit the SubscribeURL.",
    SubscribeURL: subscribeUrl,
    Timestamp: "2012-04-26T20:45:04.751Z",
    SignatureVersion: "2",
    SigningCertURL: certificateUrl,
  };
}

/** SNS sends its JSON as text/plain. */
export function signedBySns(message: Omit<SnsMessage, "Signature">, key: KeyObject = createPrivateKey(snsKey)): Signed {
  const digest = message.SignatureVersion === "1" ? "sha1" : "sha256";
  const whole = { ...message, Signature: "" };
  const signature = sign(digest, Buffer.from(snsSignedText(whole)), key).toString("base64");
  return {
    headers: { "content-type": "text/plain; charset=UTF-8", "x-amz-sns-message-type": message.Type },
    body: JSON.stringify({ ...whole, Signature: signature }),
  };
}

/** Signed by default at the time of a new world's clock. */
export function signedByMailgun(
  body: object,
  {
    at = settable().now(),
    random = "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0",
  }: { at?: Date; random?: string } = {},
): Signed {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signature = createHmac("sha256", mailgunKey)
    .update(timestamp + random)
    .digest("hex");
  return {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ signature: { timestamp, token: random, signature }, ...body }),
  };
}

export function signedBySendgrid(events: object): Signed {
  const timestamp = "1600112502";
  const body = JSON.stringify(events);
  const signature = sign("sha256", Buffer.from(timestamp + body), sendgridKeys.privateKey).toString("base64");
  return {
    headers: {
      "content-type": "application/json;charset=utf-8",
      "x-twilio-email-event-webhook-timestamp": timestamp,
      "x-twilio-email-event-webhook-signature": signature,
    },
    body,
  };
}

export function signedByResend(event: object, prefix: "svix" | "webhook" = "svix"): Signed {
  const body = JSON.stringify(event);
  const [id, timestamp] = ["msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"];
  const key = Buffer.from(resendSecret.slice("whsec_".length), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    headers: {
      "content-type": "application/json",
      [`${prefix}-id`]: id,
      [`${prefix}-timestamp`]: timestamp,
      [`${prefix}-signature`]: `v1,${signature}`,
    },
    body,
  };
}

export function signedByToken(body: object): Signed {
  return {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  };
}

export function signedByPostmark(body: object): Signed {
  const authorization = `Basic ${btoa(`inboxd:${password}`)}`;
  return { headers: { authorization, "content-type": "application/json" }, body: JSON.stringify(body) };
}
