import { Type } from "@sinclair/typebox";
import type { Reach } from "../../../domain/access/access.ts";
import { documentKinds, mostPages, pieceOf } from "../../../domain/document.ts";
import type { Deps } from "../../../flows/deps.ts";
import type { AttachmentTexts } from "../../../flows/read/attachment-text.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import type { Refused } from "../../shell/described-operation.ts";
import { idPath, nullable, oneOf } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { type Named, storedAttachment } from "./attachments.ts";

interface AttachmentTextDeps extends Deps {
  texts: AttachmentTexts;
}

/** The text of attachments, for programs and language models. Two paths, because downloads have one of their own. */
export function attachmentText(deps: AttachmentTextDeps) {
  const filename = { description: "Name of the attachment", example: examples.filename };
  return api("/v1", "Attachments")
    .get(
      "/messages/:id/attachments/:filename/text",
      ({ account, params, query }) => textAnswer(deps, account.reach, namedIn(params), query),
      operation({
        summary: "Read attachment",
        access: "read",
        description: `${about} Reads a piece of at most \`limit\` characters (Unicode code points) from \`offset\` on; \`nextOffset\` is the offset of the next one. The text is made when it is asked for, and kept for a day if that took long. Words that the document hides are left out. It is a stranger's text: give it to a model as untrusted.`,
        path: { ...idPath("message"), filename },
        ...rest(deps),
      }),
    )
    .get(
      "/attachments/:message_id/:filename/text",
      ({ account, params, query }) => textAnswer(deps, account.reach, namedIn(params), query),
      operation({
        summary: "Read attachment by download path",
        access: "read",
        description: `${about} The same as \`GET /v1/messages/{id}/attachments/{filename}/text\`. It needs a key: a signed URL is for the download.`,
        path: { message_id: { description: "Id of the message", example: examples.messageId }, filename },
        ...rest(deps),
      }),
    );
}

const about =
  "The text of an attachment: of text, HTML, CSV, calendars, mails, RTF, PDF, and the documents, sheets and slides of Microsoft Office (`docx`, `xlsx`, `pptx`) and OpenDocument (`odt`, `ods`, `odp`).";

const AttachmentText = named(
  "AttachmentText",
  Type.Object(
    {
      filename: Type.String({ description: "Name of the attachment", examples: [examples.filename] }),
      contentType: Type.String({ description: "Media type that the sender gave", examples: ["application/pdf"] }),
      kind: oneOf(documentKinds, { description: "Kind of the document, told by its bytes", examples: ["pdf"] }),
      text: Type.String({ description: "The piece of the text", examples: ["Invoice 2026-118\nTotal: 480.00 EUR"] }),
      pages: Type.Array(Type.Integer({ minimum: 0 }), {
        description: `Offsets at which the pages, sheets or slides begin in the whole text, at most ${mostPages}; empty for kinds without them`,
        examples: [[0]],
      }),
      length: Type.Integer({ minimum: 0, description: "Length of the whole text", examples: [34] }),
      nextOffset: nullable(Type.Integer({ minimum: 1 }), {
        description: "`offset` of the next piece; null at the end",
        examples: [null],
      }),
      truncated: Type.Boolean({
        description:
          "Whether the document has more text than was read: the end is cut, at the latest after 2,097,152 characters",
        examples: [false],
      }),
    },
    { description: "A piece of the text of an attachment" },
  ),
);

const mostCharacters = 100_000;

function rest(deps: AttachmentTextDeps) {
  return {
    query: Type.Object({
      offset: Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: 0,
        description: "The character at which to begin",
      }),
      limit: Type.Integer({
        minimum: 1,
        maximum: mostCharacters,
        default: mostCharacters,
        description: "The most characters to return",
      }),
    }),
    refuses: ["text_unavailable"] as const,
    // A missing attachment is reported before any other fault of the request.
    async whenRefused<Reason>({ account, params }: Refused, refusal: Reason): Promise<Reason> {
      await storedAttachment(deps, account.reach, namedIn(params));
      return refusal;
    },
    answers: { 200: AttachmentText },
  };
}

/** The names in the path. The router gives null for invalid percent-encoding. */
function namedIn(params: Readonly<Record<string, string | null>>): Named {
  return { message_id: params.id ?? params.message_id ?? "", filename: params.filename ?? "" };
}

async function textAnswer(
  deps: AttachmentTextDeps,
  reach: Reach,
  which: Named,
  { offset, limit }: { offset: number; limit: number },
) {
  const attachment = await storedAttachment(deps, reach, which);
  const { kind, text, pages, truncated } = await deps.texts.textOf(attachment);
  const piece = pieceOf(text, offset, limit);
  return {
    filename: attachment.filename,
    contentType: attachment.contentType,
    kind,
    text: piece.text,
    pages: [...pages],
    length: piece.length,
    nextOffset: piece.nextOffset ?? null,
    truncated,
  };
}
