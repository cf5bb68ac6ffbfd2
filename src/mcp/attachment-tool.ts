import { Type } from "@sinclair/typebox";
import type { Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { withoutInvisible } from "../standards/invisible.ts";
import { withLineFeeds } from "../standards/text.ts";
import { marksOf, short } from "./marks.ts";
import { argumentsOf, MarkedText, messageArgument, noticed, textOffset } from "./schemas.ts";
import { fileOf } from "./scope.ts";
import { textRoom } from "./shown.ts";
import { notice } from "./texts.ts";
import { tool } from "./tool.ts";

/** The most bytes of a file that are read as text. A larger file also gets a URL. */
const mostReadBytes = 100 << 10;

export const readAttachment = tool({
  name: "read_attachment",
  title: "Read attachment",
  description:
    "The text of an attachment, at most its first 100 KiB. For a larger file, or one that is not text, a URL that anyone can fetch until expiresAt.",
  input: argumentsOf({
    message_id: messageArgument,
    filename: Type.String({ description: "The filename in the message" }),
    offset: textOffset,
  }),
  output: Type.Object({
    ...noticed,
    filename: Type.String(),
    contentType: Type.String(),
    sizeBytes: Type.Integer(),
    text: Type.Optional(MarkedText.text),
    truncated: Type.Optional(MarkedText.truncated),
    next_offset: MarkedText.next_offset,
    url: Type.Optional(Type.String()),
    expiresAt: Type.Optional(Type.String()),
  }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  async work({ message_id: id, filename, offset }, context) {
    const { attachment, shownName } = await fileOf(context, id, filename);
    const { contentType, sizeBytes, url, expiresAt } = attachment;
    const about = { notice, filename: shownName, contentType: short(contentType), sizeBytes };

    const headers = { range: `bytes=0-${mostReadBytes - 1}` };
    const text =
      isText(attachment) && sizeBytes > 0
        ? utf8In(await context.api.attachments.get(id, attachment.filename, { headers }))
        : undefined;
    const isAll = sizeBytes <= mostReadBytes;
    const address = text !== undefined && isAll ? {} : { url, expiresAt };
    if (text === undefined) return { ...about, ...address };
    const clean = withoutInvisible(withLineFeeds(text));
    const marked = marksOf([clean], context.randomBytes).text(clean, textRoom(), offset);
    return { ...about, ...marked, truncated: marked.truncated || !isAll, ...address };
  },
});

function isText({ contentType }: Schemas["Attachment"]): boolean {
  const [type = ""] = contentType.toLowerCase().split(";", 1);
  return (
    type.startsWith("text/") ||
    /^application\/(?:[a-z0-9.-]+\+)?(?:json|xml|yaml|csv|javascript|x-ndjson|sql)$/.test(type)
  );
}

/** The text of the bytes, without a character that is cut at the end. Undefined if they are not UTF-8 or have a NUL. */
function utf8In(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
