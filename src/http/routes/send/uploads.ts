import { type Static, Type } from "@sinclair/typebox";
import { type Caller, uploadsOf } from "../../../domain/access/access.ts";
import { notFound, Refusal } from "../../../domain/errors.ts";
import { isId } from "../../../domain/ids.ts";
import { takeUpload } from "../../../flows/send/take-upload.ts";
import type { UploadDeps } from "../../../flows/send/write-files.ts";
import { storedNames } from "../../../standards/filename.ts";
import { mediaTypeOfField, mediaTypeOfName } from "../../../standards/media-type.ts";
import { expireUpload, findUpload, type Upload } from "../../../store/mail/uploads.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { isForm } from "../../shell/body.ts";
import { whetherThere } from "../../shell/described-operation.ts";
import { instant, nothing } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";
import { parameter } from "../../shell/parameters.ts";
import { declaredBytes, streamedBody } from "../../shell/streamed-body.ts";

const ShownUpload = named(
  "Upload",
  Type.Object(
    {
      id: Type.String({ description: "The `uploadId` of an attachment", examples: [examples.uploadId] }),
      filename: Type.String({ description: "The default name of the attachment" }),
      contentType: Type.String({ description: "The `Content-Type` of the request, or by the extension" }),
      sizeBytes: Type.Integer({ description: "Size of the file" }),
      sha256: Type.String({ description: "SHA-256 of the file in hex" }),
      createdAt: instant({ description: "When the upload began" }),
      expiresAt: instant({ description: "When it expires" }),
    },
    {
      description: "A file that can be attached to mail",
      examples: [
        {
          id: examples.uploadId,
          filename: examples.filename,
          contentType: "application/pdf",
          sizeBytes: 48_213,
          sha256: examples.signature,
          createdAt: examples.receivedAt,
          expiresAt: "2026-03-22T10:05:00.000Z",
        },
      ],
    },
  ),
);

const path = { id: { description: "Id of the upload", example: examples.uploadId } };

/** A filename may have at most this many characters. Stored names are shorter. */
const longestName = 1000;

export function uploads(deps: UploadDeps) {
  const isThere = whetherThere((_, id, account) => uploadOf(account, id));

  return api("/v1/uploads", "Attachments")
    .post(
      "",
      async ({ account, query, request, set }) => {
        const contentType = typeOf(request, query.filename);
        const [filename = ""] = storedNames([{ filename: query.filename, contentType }]);
        const upload = await takeUpload(deps, account, {
          filename,
          contentType,
          declaredBytes: declaredBytes(request),
          bytes: streamedBody(request, deps.uploads.sendMaxBytes),
        });
        set.status = 201;
        set.headers.location = `/v1/uploads/${upload.id}`;
        return toUpload(upload);
      },
      operation({
        summary: "Upload file",
        access: "send",
        description:
          "Stores the body as a file that any number of mails can attach by its id. It expires after `UPLOAD_TTL_HOURS`. Without a `Content-Type`, or with `application/x-www-form-urlencoded`, which curl sends by default, the type comes from the name. A body of `multipart/form-data` is refused.",
        query: Type.Object({
          filename: parameter((text) => text !== "" && text.length <= longestName, {
            error: `must have 1 to ${longestName} characters`,
            description: "Name of the file",
            examples: [examples.filename],
          }),
        }),
        otherBodies: { "*/*": { schema: { description: "The bytes of the file" }, example: "%PDF-1.7" } },
        answers: { 201: ShownUpload },
        answerHeaders: { 201: { Location: "Path of the upload" } },
        refuses: ["validation_error", "unsupported_media_type", "upload_limit"],
      }),
    )
    .get(
      "/:id",
      async ({ account, params }) => toUpload(await uploadOf(account, params.id)),
      operation({
        summary: "Get upload",
        access: "send",
        description: "The metadata of a file that can still be attached.",
        path,
        whenRefused: isThere,
        answers: { 200: ShownUpload },
      }),
    )
    .delete(
      "/:id",
      async ({ account, params, set }) => {
        await uploadOf(account, params.id);
        if (!(await expireUpload(deps.db.api, uploadsOf(account), params.id, deps.now()))) throw notFound("upload");
        set.status = 204;
      },
      operation({
        summary: "Delete upload",
        access: "send",
        description: "It cannot be attached any more, and its space is free. Mail that has it attached keeps it.",
        path,
        whenRefused: isThere,
        answers: { 204: nothing("Deleted") },
      }),
    );

  async function uploadOf(caller: Caller, id: string): Promise<Upload> {
    const upload = isId("upl", id) ? await findUpload(deps.db.api, uploadsOf(caller), id, deps.now()) : undefined;
    if (upload === undefined) throw notFound("upload");
    return upload;
  }
}

/** The type of the file. By default curl labels every body as a URL-encoded form; then the type comes from the name. */
function typeOf(request: Request, filename: string): string {
  if (isForm(request)) {
    throw new Refusal(
      "unsupported_media_type",
      `Cannot upload file: the body must be the file itself, not a form, for example with curl --data-binary @FILE ".../v1/uploads?filename=NAME"`,
    );
  }
  const said = mediaTypeOfField(request.headers.get("content-type") ?? "");
  return said === undefined || said === "application/x-www-form-urlencoded" ? mediaTypeOfName(filename) : said;
}

function toUpload(upload: Upload): Static<typeof ShownUpload> {
  return {
    id: upload.id,
    filename: upload.filename,
    contentType: upload.contentType,
    sizeBytes: upload.sizeBytes,
    sha256: upload.digest,
    createdAt: upload.createdAt.toISOString(),
    expiresAt: upload.expiresAt.toISOString(),
  };
}
