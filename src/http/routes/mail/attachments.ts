import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { type Reach, refuseWithout } from "../../../domain/access/access.ts";
import { type Closure, refuseSuspended } from "../../../domain/access/suspension.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import type { Deps } from "../../../flows/deps.ts";
import { matchesEntityTag, parseRange } from "../../../standards/byte-range.ts";
import { attachmentDisposition, harmlessType } from "../../../standards/content-disposition.ts";
import { findAttachment, type StoredAttachment } from "../../../store/mail/attachments.ts";
import { examples } from "../../document/examples.ts";
import { type AuthenticateCaller, authenticatedCaller } from "../../shell/auth.ts";
import { type CellOfMoved, ledToCell } from "../../shell/moved.ts";
import { operation } from "../../shell/operation.ts";
import type { ReadingDeps } from "./messages.ts";
import { lengthAlone, type StoredBytesDeps, storedBytes, untrustedHeaders } from "./stored-bytes.ts";

export interface AttachmentDeps extends ReadingDeps, StoredBytesDeps, AuthenticateCaller {
  closureOf?: ((accountId: string) => Closure | undefined) | undefined;
  cellOfMoved?: CellOfMoved | undefined;
}

/**
 * Downloads of attachments. They are mounted without the guard, because a signed URL needs no key; without a signature
 * the key is checked here.
 */
export function attachments(deps: AttachmentDeps) {
  return new Elysia({ prefix: "/v1/attachments", tags: ["Attachments"] }).get(
    "/:message_id/:filename",
    async ({ request, params }) => {
      // The router gives null for invalid percent-encoding.
      const named = { message_id: params.message_id ?? "", filename: params.filename ?? "" };
      const attachment = await permitted(deps, request, named);
      const led = await ledToCell(deps.cellOfMoved, attachment.accountId, request);
      if (led !== undefined) return led;
      refuseSuspended(deps.closureOf?.(attachment.accountId), notShown, "download attachment");
      return answerWith(deps, request, attachment);
    },
    operation({
      summary: "Download attachment",
      access: "open",
      description:
        "Each message has the signed URL of its attachments. It is valid for `ATTACHMENT_URL_TTL` seconds and needs no key. Without `signature` it needs the key of the account. One byte range is supported. HTML, SVG, XML and JavaScript are sent as `application/octet-stream`.",
      path: {
        message_id: { description: "Id of the message", example: examples.messageId },
        filename: { description: "Name of the attachment", example: examples.filename },
      },
      link: {
        expires: { description: "Unix seconds until which the URL is valid", example: examples.linkExpires },
        signature: { description: "Signature of the URL, in place of a key", example: examples.signature },
        cell: { description: "Cell of the service, for a balancer; it is ignored", example: "00" },
      },
      headers: {
        Range: { description: "One range of bytes", example: "bytes=0-1023" },
        "If-None-Match": { description: "Entity tags of your copies", example: '"9f2c01a4e7b8d360"' },
        "If-Range": {
          description: "Entity tag of the part that you have. If it differs, the whole file is sent",
          example: '"9f2c01a4e7b8d360"',
        },
      },
      refuses: ["unauthorized", "forbidden", "invalid_signature", "link_expired"],
      answers: {
        200: Type.String({
          description: "The bytes",
          contentMediaType: "*/*",
          examples: ["%PDF-1.7"],
        }),
        206: Type.String({
          description: "The range",
          contentMediaType: "*/*",
          examples: ["%PDF"],
        }),
        304: Type.Void({ description: "Your copy is current" }),
        307: Type.Void({ description: "The account has moved to another cell of the service" }),
        416: Type.Void({ description: "The range is outside the file; `Content-Range` has the size" }),
      },
      answerHeaders: {
        200: { ETag: "Entity tag of the bytes", "Content-Disposition": "`attachment` with the name" },
        206: { ETag: "Entity tag of the bytes", "Content-Range": "The range and the size of the file" },
        304: { ETag: "Entity tag of the bytes" },
        307: { Location: "The same URL with the other cell" },
        416: { "Content-Range": "The size of the file" },
      },
    }),
  );
}

export interface Named {
  message_id: string;
  filename: string;
}

const notShown = { sends: false, showsAccount: false };

/** Checks the signature, or the key if there is no signature. A wrong signature is refused even with a valid key. */
async function permitted(deps: AttachmentDeps, request: Request, named: Named): Promise<StoredAttachment> {
  const parameters = new URL(request.url).searchParams;
  const signature = parameters.get("signature");
  if (signature === null) {
    const account = await authenticatedCaller(request, deps);
    const attachment = await storedAttachment(deps, account.reach, named);
    refuseWithout("read", account, "download attachment");
    return attachment;
  }
  const link = { messageId: named.message_id, filename: named.filename, expires: parameters.get("expires"), signature };
  const verdict = await deps.links.judge(link, deps.now());
  if (verdict === "forged") {
    throw new Refusal("invalid_signature", "Cannot download attachment: the signature of the URL is wrong");
  }
  if (verdict === "expired") {
    throw new Refusal("link_expired", "Cannot download attachment: the URL has expired; the message has a new one");
  }
  return storedAttachment(deps, undefined, named);
}

/** The attachment with this name. Throws `not_found` also for one beyond the reach. */
export async function storedAttachment(
  deps: Deps,
  reach: Reach | undefined,
  { message_id: messageId, filename }: Named,
): Promise<StoredAttachment> {
  const isName = isId("msg", messageId) && filename.isWellFormed() && !filename.includes("\0");
  const attachment = isName ? await findAttachment(deps.db.api, reach, messageId, filename) : undefined;
  if (attachment === undefined) throw notFound("attachment");
  return attachment;
}

async function answerWith(deps: AttachmentDeps, request: Request, attachment: StoredAttachment): Promise<Response> {
  const { sizeBytes } = attachment;
  const entityTag = `"${attachment.digest}"`;
  const headers = {
    "content-type": harmlessType(attachment.contentType),
    "content-disposition": attachmentDisposition(attachment.filename),
    etag: entityTag,
    "accept-ranges": "bytes",
    ...untrustedHeaders,
  };
  const asked = request.headers;
  if (matchesEntityTag(asked.get("if-none-match"), entityTag)) return new Response(null, { status: 304, headers });

  // A range counts only for GET (RFC 9110 §14.2), and only if `If-Range` is missing or has the current entity tag
  // (§13.1.5).
  const ifRange = asked.get("if-range");
  const mayBePart = request.method === "GET" && (ifRange === null || ifRange === entityTag);
  const range = parseRange(mayBePart ? asked.get("range") : null, sizeBytes);
  if (range === "unsatisfiable") {
    return new Response(null, {
      status: 416,
      headers: { ...untrustedHeaders, "content-range": `bytes */${sizeBytes}` },
    });
  }
  const { first, last } = range ?? { first: 0, last: sizeBytes - 1 };
  const length = { "content-length": String(last - first + 1) };
  if (request.method === "HEAD") return new Response(lengthAlone(sizeBytes), { headers });
  const body = await storedBytes(deps, deps.db.api, attachment, { first, last });
  if (range === undefined) return new Response(body, { headers: { ...headers, ...length } });
  const partial = { ...headers, ...length, "content-range": `bytes ${first}-${last}/${sizeBytes}` };
  return new Response(body, { status: 206, headers: partial });
}
