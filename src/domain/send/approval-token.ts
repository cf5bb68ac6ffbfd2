import { isId } from "../ids.ts";
import type { Decider } from "./approval.ts";

/** The claims of a link for an approval: the approver, the version of the draft, and the end. */
export interface ApprovalClaims {
  draftId: string;
  version: number;
  approver: Decider;
  /** A whole second. */
  expiresAt: Date;
}

/** The claims as text in base64url, to be signed. */
export function approvalText({ draftId, version, approver, expiresAt }: ApprovalClaims): string {
  const claims = { v: 1, draft: draftId, version, ...approver, exp: Math.floor(expiresAt.getTime() / 1000) };
  return Buffer.from(JSON.stringify(claims)).toString("base64url");
}

/** Splits a token into the text of its claims and its signature. Undefined if the text has another form. */
export function approvalParts(token: string): { claims: string; signature: string } | undefined {
  const [, claims, signature] = form.exec(token) ?? [];
  return claims === undefined || signature === undefined ? undefined : { claims, signature };
}

/** Parses claims whose signature is ours. Undefined for an unknown version. */
export function parseApproval(text: string): ApprovalClaims | undefined {
  const { v, draft, version, address, key, exp } = JSON.parse(Buffer.from(text, "base64url").toString());
  if (v !== 1 || typeof draft !== "string" || !isId("msg", draft)) return undefined;
  const approver = typeof key === "string" ? { key } : { address: String(address) };
  return { draftId: draft, version, approver, expiresAt: new Date(exp * 1000) };
}

/** An address of 254 characters takes up to 600 characters of the claims. */
const form = /^([A-Za-z0-9_-]{1,1000})\.([A-Za-z0-9_-]{43})$/;
