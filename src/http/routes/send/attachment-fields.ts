import { Type } from "@sinclair/typebox";
import type { Fault } from "../../../domain/errors.ts";
import { type AskedAttachment, attachmentFaults, faultsBeside } from "../../../domain/send/attachment-words.ts";
import type { SentAttachment } from "../../../domain/send/files-of-send.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { oneOf, text } from "../../shell/models.ts";

const mostAttachments = 50;
const attachmentsRule = `must be a list of at most ${mostAttachments} attachments`;

const NewAttachment = named(
  "NewAttachment",
  Type.Object(
    {
      content: Type.Optional(
        text({
          description: "The file in base64 (RFC 4648 §4). A body has room for about 1.4 MB of files",
          examples: ["JVBERi0xLjc="],
        }),
      ),
      uploadId: Type.Optional(text({ description: "A file that was uploaded", examples: [examples.uploadId] })),
      messageId: Type.Optional(
        text({ description: "With `filename`: an attachment of this message", examples: [examples.messageId] }),
      ),
      filename: Type.Optional(
        text({
          min: 1,
          max: 1000,
          description: "Name of the file. Default: the name of the upload",
          examples: [examples.filename],
        }),
      ),
      contentType: Type.Optional(
        text({
          description: "Media type. Default: the type of the source, or by the extension",
          examples: ["application/pdf"],
        }),
      ),
      inline: Type.Optional(
        Type.Boolean({ default: false, description: "Whether the HTML shows it, so that it is not listed as a file" }),
      ),
      contentId: Type.Optional(
        text({
          description: "With `inline`: the HTML refers to it by `cid:` and this id",
          examples: ["logo@example.com"],
        }),
      ),
    },
    {
      description: "A file to attach, from one of three sources",
      examples: [{ filename: examples.filename, content: "JVBERi0xLjc=" }, { uploadId: examples.uploadId }],
    },
  ),
);

/** Fields of a new email that add files. */
export const fileFields = {
  attachments: Type.Optional(
    Type.Array(NewAttachment, {
      maxItems: mostAttachments,
      error: attachmentsRule,
      description: "Files of the mail. Use an upload or a form for larger files",
      examples: [[{ uploadId: examples.uploadId }]],
    }),
  ),
  forwardOf: Type.Optional(
    text({
      description: "A message of any of your inboxes, to be forwarded with its attachments. `body` is then optional",
      examples: [examples.messageId],
    }),
  ),
  forwardAs: Type.Optional(
    oneOf(["inline", "attachment"], {
      default: "inline",
      description: "`attachment`: the whole mail as a file, instead of its text under yours",
      examples: ["attachment"],
    }),
  ),
  includeAttachments: Type.Optional(
    Type.Boolean({ default: true, description: "With `forwardOf`: `false` leaves out its attachments" }),
  ),
};

/** The faults of the attachments in a request. Empty if a type is wrong, because the schema reports that. */
export function faultsOfAttachments(asked: unknown): Fault[] {
  return isAttachments(asked) ? attachmentFaults(asked) : [];
}

/** The faults that a form's attachments have together with its files, such as too many of both. */
export function faultsBesideForm(asked: readonly AskedAttachment[], inForm: readonly SentAttachment[]): Fault[] {
  if (asked.length + inForm.length > mostAttachments) return [{ pointer: "#/attachments", detail: attachmentsRule }];
  return faultsBeside(asked, inForm);
}

/** Whether the attachments have the right types and are not too many. The schema reports both faults. */
function isAttachments(asked: unknown): asked is AskedAttachment[] {
  return Array.isArray(asked) && asked.length <= mostAttachments && asked.every(isAttachment);
}

function isAttachment(asked: unknown): boolean {
  if (typeof asked !== "object" || asked === null || Array.isArray(asked)) return false;
  return Object.entries(asked).every(([name, value]) => typeof value === (name === "inline" ? "boolean" : "string"));
}
