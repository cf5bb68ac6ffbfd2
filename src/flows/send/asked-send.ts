import { fingerprintOf } from "../../domain/idempotency.ts";
import { resolveBodies } from "../../domain/send/body-format.ts";
import type { AskedSend, SendRequest } from "../../domain/send/send.ts";
import { fingerprintBody } from "../../domain/send/send-fingerprint.ts";
import { textOfHtml } from "../../mail/html/html.ts";

/** A request with what it says as text and HTML; `markdownHtml` is what was made of its Markdown. */
export function askedSend(request: SendRequest, markdownHtml: string | undefined): AskedSend {
  const { account, inboxId, idempotencyKey, body, bodyHtml, bodyFormat } = request;
  const key = { accountId: account.id, operation: "send" as const, key: idempotencyKey };
  return {
    request,
    // No part of it holds a space.
    key: { ...key, label: `${key.accountId} ${key.key}` },
    fingerprint: fingerprintOf(inboxId, fingerprintBody(request)),
    ...resolveBodies({ body, bodyHtml, bodyFormat }, { textOfHtml, markdownHtml }),
  };
}
