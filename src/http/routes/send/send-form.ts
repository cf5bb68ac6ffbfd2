import { Refusal } from "../../../domain/errors.ts";
import { isContentId } from "../../../domain/send/attachment-words.ts";
import type { FormFiles } from "../../../flows/send/take-form-file.ts";
import { mediaTypeOfField } from "../../../standards/media-type.ts";
import { parseJson, tooLarge } from "../../shell/body.ts";
import { broken, type FormPart, readForm } from "../../shell/form.ts";

/** The body of a send request as a form, for the OpenAPI document. */
export const sendFormBody = {
  schema: {
    type: "object",
    description:
      "Texts with the names of the JSON fields, or one part `message` with the JSON; files as parts `attachments`, or `inline:` and the content id",
    properties: {
      message: { $ref: "#/components/schemas/NewEmail" },
      attachments: { type: "array", items: { type: "string", contentMediaType: "application/octet-stream" } },
    },
    additionalProperties: true,
  },
};

/** The most bytes of all texts of a form together. */
const mostTextBytes = 2_000_000;

const lists = ["to", "cc", "bcc", "labels"];
const flags = [
  "includeQuote",
  "ignoreLoop",
  "replyAll",
  "ifUnanswered",
  "includeAttachments",
  "unsubscribe",
  "unlessReplied",
];

/**
 * Reads a send request in a form. Returns the value that the same request has in JSON, for the same validation. Files
 * are stored as they arrive.
 */
export async function readSendForm(
  contentType: string,
  body: AsyncIterable<Uint8Array>,
  files: Pick<FormFiles, "take">,
): Promise<unknown> {
  const texts = new Map<string, string[]>();
  const contentIds = new Set<string>();
  let message: { value: unknown } | undefined;
  let leftBytes = mostTextBytes;

  await readForm(contentType, body, async (part) => {
    const contentId = contentIdOf(part.name);
    if (part.name === "attachments" || contentId !== undefined) {
      if (contentId !== undefined) takeContentId(contentIds, contentId);
      const { filename = "", bytes } = part;
      return files.take({ filename, contentType: mediaTypeOfField(part.contentType ?? ""), contentId, bytes });
    }
    const bytes = await bytesOf(part, leftBytes);
    leftBytes -= bytes.length;
    if (part.name === "message" && mediaTypeOfField(part.contentType ?? "") === "application/json") {
      if (message !== undefined) throw broken('it has more than one "message"');
      message = { value: parseJson(bytes) };
      return;
    }
    if (part.filename !== undefined) {
      throw broken('the name of a file part must be "attachments", or "inline:" and a content id');
    }
    texts.set(part.name, [...(texts.get(part.name) ?? []), textOf(bytes)]);
  });

  if (message === undefined)
    return Object.fromEntries(Array.from(texts, ([name, values]) => [name, jsonValue(name, values)]));
  if (texts.size > 0) throw broken('it has further texts in addition to "message"');
  return message.value;
}

function contentIdOf(name: string): string | undefined {
  return name.startsWith("inline:") ? name.slice("inline:".length) : undefined;
}

function takeContentId(taken: Set<string>, contentId: string): void {
  const why = !isContentId(contentId) ? "is not valid" : taken.has(contentId) ? "is used twice" : undefined;
  if (why !== undefined) throw broken(`the content id of an "inline:" file ${why}`);
  taken.add(contentId);
}

async function bytesOf({ bytes }: FormPart, maxBytes: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const piece of bytes) {
    sizeBytes += piece.length;
    if (sizeBytes > maxBytes) throw tooLarge({ maxBytes: mostTextBytes });
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw broken("a text in it is not UTF-8");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The value that a form field has in JSON: a list, a boolean or a text. A text that does not fit its field stays a
 * text, and the schema refuses it.
 */
function jsonValue(name: string, values: readonly string[]): unknown {
  if (name === "labels") return values;
  const [only = "", ...others] = values;
  if (others.length > 0) {
    if (lists.includes(name)) return values;
    throw new Refusal("invalid_form", "Cannot read form: a field that has only one value is given twice");
  }
  if (flags.includes(name) && (only === "true" || only === "false")) return only === "true";
  return only;
}
