import { attachmentKey, attachmentSignature, isAttachmentSignature } from "../../standards/signature.ts";
import type { ListedAttachment } from "../../store/mail/attachments.ts";

/** Signed URLs, each of which gives access to one attachment until it expires (contract §9). */
export interface AttachmentLinks {
  attachmentUrl(messageId: string, filename: string, now: Date): Promise<{ url: string; expiresAt: Date }>;
  /** Judges a URL by its parameters `expires` and `signature`. */
  judge(link: PresentedLink, now: Date): Promise<"valid" | "expired" | "forged">;
}

export interface PresentedLink {
  messageId: string;
  filename: string;
  expires: string | null;
  signature: string;
}

export interface LinkSettings {
  signingKey: string;
  ttlSeconds: number;
  /** Named in each URL for a balancer before several services. It is not signed, and nothing inside looks at it. */
  cell: string;
  /** A function, because with port 0 the base URL is known only once the service listens. */
  baseUrl: () => string;
}

export async function attachmentLinks({
  signingKey,
  ttlSeconds,
  cell,
  baseUrl,
}: LinkSettings): Promise<AttachmentLinks> {
  const key = await attachmentKey(signingKey);
  /**
   * The signatures of the last links, which all expire in the same second. If one of them is made again in that second, its signature is
   * not computed again.
   */
  let ofSecond = { expires: 0, signatures: new Map<string, Promise<string>>() };

  function signatureOf(messageId: string, filename: string, expires: number): Promise<string> {
    if (ofSecond.expires !== expires || ofSecond.signatures.size >= mostSigned) {
      ofSecond = { expires, signatures: new Map() };
    }
    const name = `${messageId}\n${filename}`;
    const signed = ofSecond.signatures.get(name) ?? attachmentSignature(key, messageId, filename, expires);
    ofSecond.signatures.set(name, signed);
    return signed;
  }

  return {
    async attachmentUrl(messageId, filename, now) {
      const expires = Math.ceil(now.getTime() / 1000) + ttlSeconds;
      const signature = await signatureOf(messageId, filename, expires);
      const path = `/v1/attachments/${messageId}/${encodeURIComponent(filename)}`;
      return {
        url: `${baseUrl()}${path}?expires=${expires}&signature=${signature}&cell=${cell}`,
        expiresAt: new Date(expires * 1000),
      };
    },
    async judge({ messageId, filename, expires, signature }, now) {
      if (expires === null || !/^[0-9]{1,12}$/.test(expires)) return "forged";
      const link = { messageId, storedName: filename, expires: Number(expires), signature };
      if (!(await isAttachmentSignature(key, link))) return "forged";
      return now.getTime() < link.expires * 1000 ? "valid" : "expired";
    },
  };
}

const mostSigned = 1000;

/** An attachment as the API and events show it, with its URL. */
export interface LinkedAttachment {
  filename: string;
  contentType: string;
  sizeBytes: number;
  url: string;
  id: string;
  contentId: string | null;
  inline: boolean;
  expiresAt: string;
}

export function linkedAttachments(
  links: Pick<AttachmentLinks, "attachmentUrl">,
  messageId: string,
  attachments: readonly ListedAttachment[],
  now: Date,
): Promise<LinkedAttachment[]> {
  return Promise.all(
    attachments.map(async ({ id, filename, contentType, sizeBytes, contentId, inline }) => {
      const { url, expiresAt } = await links.attachmentUrl(messageId, filename, now);
      return { filename, contentType, sizeBytes, url, id, contentId, inline, expiresAt: expiresAt.toISOString() };
    }),
  );
}
