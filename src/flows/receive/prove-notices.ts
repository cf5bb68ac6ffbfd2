import type { NoticeSource } from "../../domain/reports/notice-source.ts";
import { at } from "../../mail/notices/json.ts";
import { sha256Hex } from "../../standards/digest.ts";
import {
  isBasic,
  isMailgunSignature,
  isSendgridSignature,
  type MailgunSignature,
} from "../../standards/notice-signature.ts";
import { isSameSecret, isStandardSignature } from "../../standards/signature.ts";
import { insertUsedToken, removeUsedToken } from "../../store/account/used-tokens.ts";
import type { Deps } from "../deps.ts";
import { forgedNotice, type SnsDeps, snsProof } from "./sns-proof.ts";

/** The request of a relay that contains notices. */
export interface GivenNotices {
  /** "" for a missing header. */
  header: (name: string) => string;
  /**
   * Reads the body of the request. If the proof is in a header, that is checked first, so that the body of a stranger's request is not
   * read.
   */
  body: () => Promise<NoticesBody>;
}

export interface NoticesBody {
  bytes: Uint8Array;
  /** Parses the JSON, or refuses the request. */
  value: () => unknown;
}

/**
 * Checks that a request comes from the relay, passes its value to `take`, and returns the result. Refuses any other request. The value is
 * undefined if the request has no notices, as when it confirms a subscription.
 */
export type ProveNotices = <Taken>(given: GivenNotices, take: Take<Taken>) => Promise<Taken>;

type Take<Taken> = (proven: unknown) => Promise<Taken>;

export interface ProofDeps extends SnsDeps, Pick<Deps, "db"> {}

export function noticeProof(source: NoticeSource, deps: ProofDeps): ProveNotices {
  switch (source.provider) {
    case "ses": {
      const published = snsProof(deps, source.topics);
      return async ({ body }, take) => take(publishedValue(await published((await body()).value())));
    }
    case "mailgun":
      return (given, take) => takenFromMailgun(deps, source.signingKey, given, take);
    case "sendgrid":
      return async (given, take) => take(await provenBySendgrid(given, source.publicKey));
    case "resend":
      return async (given, take) => take(await provenByResend(given, source.secret));
    case "postmark":
      return async ({ header, body }, take) => {
        refuseUnless(isBasic(header("authorization"), source.user, source.password), "Basic");
        return take((await body()).value());
      };
    case "generic":
      return async ({ header, body }, take) => {
        const [, token = ""] = /^bearer +([\x21-\x7e]{1,512}) *$/i.exec(header("authorization")) ?? [];
        refuseUnless(isSameSecret(token, source.token), "Bearer");
        return take((await body()).value());
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

/** The JSON that SES publishes by SNS; undefined for the plain text with which it announces a new topic. */
function publishedValue(published: string | undefined): unknown {
  try {
    return published === undefined ? undefined : JSON.parse(published);
  } catch {
    return undefined;
  }
}

/** The most that the time of a Mailgun signature may differ from our clock. */
const longestSignedMs = 3_600_000;

/**
 * Mailgun signs a time and a random token, but not the body. So a token is accepted for one body only, within an hour of the signed time.
 * It is stored before `take`, so that a second body at the same time is refused. It is removed if `take` fails, because Mailgun then sends
 * the notice again.
 */
async function takenFromMailgun<Taken>(
  { db, now }: ProofDeps,
  key: string,
  { body }: GivenNotices,
  take: Take<Taken>,
): Promise<Taken> {
  const { bytes, value } = await body();
  const notice = value();
  const signed = mailgunSignatureOf(notice);
  refuseUnless(isMailgunSignature(key, signed));
  const signedMs = Number(signed.timestamp) * 1000;
  if (Math.abs(now().getTime() - signedMs) > longestSignedMs)
    throw forgedNotice("the time of the signature is more than an hour from now");
  const use = {
    token: `mailgun:${signed.token}`,
    usedFor: sha256Hex(bytes),
    validUntil: new Date(signedMs + longestSignedMs),
  };
  const earlier = await insertUsedToken(db.api, use);
  if (earlier !== undefined && earlier !== use.usedFor) throw forgedNotice("its token has signed another notice");
  try {
    const taken = await take(notice);
    // Stores the token again: the same notice may have come in two requests at the same time, and the other one may have failed and removed
    // the token.
    if (earlier !== undefined) await insertUsedToken(db.api, use);
    return taken;
  } catch (error) {
    if (earlier === undefined) await removeUsedToken(db.api, use);
    throw error;
  }
}

function mailgunSignatureOf(value: unknown): MailgunSignature {
  const text = (name: string) => {
    const found = at(value, "signature", name);
    return typeof found === "string" || typeof found === "number" ? String(found) : "";
  };
  return { timestamp: text("timestamp"), token: text("token"), signature: text("signature") };
}
