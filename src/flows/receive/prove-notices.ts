import type { NoticeSource } from "../../domain/reports/notice-source.ts";
import { at } from "../../mail/notices/json.ts";
import { isBasic, isMailgunSignature, isSameSecret, isSendgridSignature } from "../../standards/notice-signature.ts";
import { isStandardSignature } from "../../standards/signature.ts";
import { forgedNotice, type SnsDeps, snsProof } from "./sns-proof.ts";

/** A request as it came. */
export interface GivenNotices {
  /** "" for a header that is not there. */
  header: (name: string) => string;
  /** Reads the body; whoever is known by a header alone is known before that. */
  body: () => Promise<NoticesBody>;
}

export interface NoticesBody {
  bytes: Uint8Array;
  /** What it says; refuses what is no JSON. */
  value: () => unknown;
}

/** What the relay that we know says, whole; refuses what is not its word. Undefined where there is nothing in it to read. */
export type ProveNotices = (given: GivenNotices) => Promise<unknown>;

export function noticeProof(source: NoticeSource, sns: SnsDeps): ProveNotices {
  switch (source.provider) {
    case "ses": {
      const published = snsProof(sns, source.topics);
      return async ({ body }) => publishedValue(await published((await body()).value()));
    }
    case "mailgun":
      return async ({ body }) => provenByMailgun((await body()).value(), source.signingKey);
    case "sendgrid":
      return (given) => provenBySendgrid(given, source.publicKey);
    case "resend":
      return (given) => provenByResend(given, source.secret);
    case "postmark":
      return async ({ header, body }) => {
        refuseUnless(isBasic(header("authorization"), source.user, source.password), "Basic");
        return (await body()).value();
      };
    case "generic":
      return async ({ header, body }) => {
        const [, token = ""] = /^bearer +([\x21-\x7e]{1,512}) *$/i.exec(header("authorization")) ?? [];
        refuseUnless(isSameSecret(token, source.token), "Bearer");
        return (await body()).value();
      };
  }
}

async function provenBySendgrid({ header, body }: GivenNotices, publicKey: string): Promise<unknown> {
  const timestamp = header("x-twilio-email-event-webhook-timestamp");
  const signature = header("x-twilio-email-event-webhook-signature");
  refuseUnless(signature !== "");
  const { bytes, value } = await body();
  refuseUnless(isSendgridSignature(publicKey, { timestamp, signature, body: bytes }));
  return value();
}

async function provenByResend({ header, body }: GivenNotices, secret: string): Promise<unknown> {
  const field = (name: string) => header(`svix-${name}`) || header(`webhook-${name}`);
  const signatures = field("signature");
  refuseUnless(signatures !== "");
  const { bytes, value } = await body();
  const signed = { id: field("id"), timestamp: field("timestamp"), signatures, body: utf8.decode(bytes) };
  refuseUnless(await isStandardSignature(secret, signed));
  return value();
}

const utf8 = new TextDecoder();

function refuseUnless(isProven: boolean, challenge?: "Basic" | "Bearer"): void {
  if (isProven) return;
  throw forgedNotice(
    challenge === undefined ? "the signature is wrong" : "the password of RELAY_NOTICES is needed",
    challenge,
  );
}

/** SNS carries text: SES publishes JSON, and says in plain words that a topic is set up. */
function publishedValue(published: string | undefined): unknown {
  try {
    return published === undefined ? undefined : JSON.parse(published);
  } catch {
    return undefined;
  }
}

function provenByMailgun(value: unknown, key: string): unknown {
  const text = (name: string) => {
    const found = at(value, "signature", name);
    return typeof found === "string" || typeof found === "number" ? String(found) : "";
  };
  const signed = { timestamp: text("timestamp"), token: text("token"), signature: text("signature") };
  refuseUnless(isMailgunSignature(key, signed));
  return value;
}
