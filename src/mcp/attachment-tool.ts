import { Type } from "@sinclair/typebox";
import { InboxdError, type Schemas } from "../../sdk/typescript/src/inboxd.ts";
import { withoutInvisible } from "../standards/invisible.ts";
import { jsonLength, marksOf, mostTextCharacters, short } from "./marks.ts";
import { argumentsOf, MarkedText, messageArgument, noticed, textOffset } from "./schemas.ts";
import { fileOf } from "./scope.ts";
import { textRoom } from "./shown.ts";
import { notice } from "./texts.ts";
import { type Context, tool } from "./tool.ts";

export const readAttachment = tool({
  name: "read_attachment",
  title: "Read attachment",
  description:
    "The text of an attachment: of text, HTML, CSV, calendars, mails, RTF, PDF and Office documents, up to 20,000 characters at a time. For a file without text, the reason, and a URL that anyone can fetch until expiresAt.",
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
    kind: Type.Optional(Type.String()),
    length: Type.Optional(Type.Integer()),
    text: Type.Optional(MarkedText.text),
    truncated: Type.Optional(MarkedText.truncated),
    next_offset: MarkedText.next_offset,
    reason: Type.Optional(Type.String()),
    url: Type.Optional(Type.String()),
    expiresAt: Type.Optional(Type.String()),
  }),
  hints: { readOnly: true, idempotent: true, openWorld: true },
  async work({ message_id: id, filename, offset = 0 }, context) {
    const { attachment, shownName } = await fileOf(context, id, filename);
    const { contentType, sizeBytes, url, expiresAt } = attachment;
    const about = { notice, filename: shownName, contentType: short(contentType), sizeBytes };
    const piece = await pieceOf(context, id, attachment.filename, offset);
    if ("reason" in piece) return { ...about, ...piece, url, expiresAt };
    const { text, kind, length, nextOffset, truncated } = piece;
    return {
      ...about,
      kind,
      length,
      ...marksOf([text], context.randomBytes).text(text, textRoom()),
      truncated: truncated || nextOffset !== null,
      ...(nextOffset !== null && { next_offset: nextOffset }),
      // The rest of a document that was cut is only in the file.
      ...(truncated && { url, expiresAt }),
    };
  },
});

type Piece = Schemas["AttachmentText"] | { reason: string };

/** The next piece of the text without invisible characters. A piece that is too long as JSON is fetched again with half the length. */
async function pieceOf({ api }: Context, id: string, filename: string, offset: number): Promise<Piece> {
  const { characters, jsonCharacters } = textRoom();
  for (let limit = Math.min(mostTextCharacters, characters); ; limit = limit >> 1) {
    try {
      const piece = await api.attachments.text(id, filename, { offset, limit });
      const text = withoutInvisible(piece.text);
      if (limit <= 1 || (text.length <= characters && jsonLength(text) <= jsonCharacters)) return { ...piece, text };
    } catch (error) {
      if (!(error instanceof InboxdError) || error.code !== "text_unavailable") throw error;
      return { reason: String(error.problem.reason) };
    }
  }
}
