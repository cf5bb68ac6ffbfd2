import { type ApprovalClaims, approvalParts, approvalText, parseApproval } from "../../domain/send/approval-token.ts";
import { approvalKey, isTokenSignature, tokenSignature } from "../../standards/signature.ts";

/** Signed addresses of the page on which a person approves or rejects a mail. They are not stored. */
export interface ApprovalLinks {
  make(claims: ApprovalClaims): Promise<string>;
  /** The claims of a token; undefined if it is not one of ours, or has expired. */
  read(token: string, now: Date): Promise<ApprovalClaims | undefined>;
}

/** `baseUrl` is a function, because with port 0 it is known only once the service listens. */
export async function approvalLinks(signingKey: string, baseUrl: () => string): Promise<ApprovalLinks> {
  const key = await approvalKey(signingKey);
  return {
    async make(claims) {
      const text = approvalText(claims);
      return `${baseUrl()}/approve/${text}.${await tokenSignature(key, text)}`;
    },
    async read(token, now) {
      const parts = approvalParts(token);
      if (parts === undefined || !(await isTokenSignature(key, parts.claims, parts.signature))) return undefined;
      const claims = parseApproval(parts.claims);
      return claims !== undefined && now < claims.expiresAt ? claims : undefined;
    },
  };
}
