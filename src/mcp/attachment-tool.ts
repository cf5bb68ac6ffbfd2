import { Type } from "@sinclair/typebox";
import { withoutInvisible } from "../standards/invisible.ts";
import { withLineFeeds } from "../standards/text.ts";
import { marksOf, short, shortNames } from "./marks.ts";
import { messageOf, notFound } from "./places.ts";
import { argumentsOf, MarkedText, messageArgument, noticed, textOffset } from "./schemas.ts";
import { textRoom } from "./shown.ts";
import { notice } from "./texts.ts";
import { tool } from "./tool.ts";
import type { Attachment } from "./wire.ts";

/** As much of a file is read as text; there is an address for what is larger. */
const mostReadBytes = 100 << 10;

export const readAttachment = tool({
  name: "read_attachment",
  title: "Read attachment",
  description:
    "The text of an attached file, up to its first 100 KiB; for a file that is larger or no text an address that anyone can fetch until expiresAt.",
  input: argumentsOf({
    message_id: messageArgument,
    filename: Type.String({ description: "As the message names it" }),
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
    const { attachments } = await messageOf(context, id);
    // A name is known by how it was shown, too.
    const names = shortNames(attachments.map((each) => each.filename));
    const index = attachments.findIndex((each) => each.filename === filename);
    const place = index < 0 ? names.indexOf(filename) : index;
    const attachment = attachments[place];
    if (attachment === undefined) throw notFound("attachment");
    const { contentType, sizeBytes, url, expiresAt } = attachment;
    const about = { notice, filename: names[place] ?? "", contentType: short(contentType), sizeBytes };

    const path = `/v1/attachments/${encodeURIComponent(id)}/${encodeURIComponent(attachment.filename)}`;
    const range = { range: `bytes=0-${mostReadBytes - 1}` };
    const text = isText(attachment) && sizeBytes > 0 ? utf8In(await context.api.bytes(path, range)) : undefined;
    const isAll = sizeBytes <= mostReadBytes;
    const address = text !== undefined && isAll ? {} : { url, expiresAt };
    if (text === undefined) return { ...about, ...address };
    const clean = withoutInvisible(withLineFeeds(text));
    const marked = marksOf([clean], context.randomBytes).text(clean, textRoom(), offset);
    return { ...about, ...marked, truncated: marked.truncated || !isAll, ...address };
  },
});

function isText({ contentType }: Attachment): boolean {
  const [type = ""] = contentType.toLowerCase().split(";", 1);
  return (
    type.startsWith("text/") ||
    /^application\/(?:[a-z0-9.-]+\+)?(?:json|xml|yaml|csv|javascript|x-ndjson|sql)$/.test(type)
  );
}

/** Undefined where it is none; a character that the end cut in two is left out. */
function utf8In(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: true });
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}
