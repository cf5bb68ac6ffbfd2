/** A media type as `type/subtype` in lower case (RFC 6838 §4.2), with at most 127 characters. `undefined` for anything else, such as parameters. */
export function parseMediaType(text: string): string | undefined {
  const type = text.toLowerCase();
  return type.length <= longestType && typeAndSubtype.test(type) ? type : undefined;
}

/** The media type of a `Content-Type` field, without its parameters. */
export function mediaTypeOfField(field: string): string | undefined {
  return parseMediaType((field.split(";", 1)[0] ?? "").trim());
}

/** The type of unknown bytes. */
export const octetStream = "application/octet-stream";

const longestType = 127;
const typeAndSubtype = /^[a-z0-9][a-z0-9!#$&^_.+-]*\/[a-z0-9][a-z0-9!#$&^_.+-]*$/;

/** The media type for the extension of a file name, or `octetStream` if the extension is unknown. */
export function mediaTypeOfName(filename: string): string {
  const dot = filename.lastIndexOf(".");
  return (dot < 0 ? undefined : types.get(filename.slice(dot + 1).toLowerCase())) ?? octetStream;
}

/** The extension for a file without a name that has this media type. */
export function extensionOfType(contentType: string): string {
  const known = extensions.get(contentType);
  if (known !== undefined) return known;
  return contentType.startsWith("text/") ? "txt" : "bin";
}

/**
 * Media types and their extensions. A file without a name gets the first extension of its type. An extension stands for the first type that
 * lists it.
 */
const known: readonly (readonly [type: string, ...extensions: string[]])[] = [
  ["application/gzip", "gz"],
  ["application/json", "json"],
  ["application/msword", "doc"],
  ["application/pdf", "pdf"],
  ["application/pgp-signature", "asc"],
  ["application/pgp-encrypted", "asc"],
  ["application/pgp-keys", "asc"],
  ["application/pkcs7-mime", "p7m"],
  ["application/pkcs7-signature", "p7s"],
  ["application/x-pkcs7-mime", "p7m"],
  ["application/x-pkcs7-signature", "p7s"],
  ["application/rtf", "rtf"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.ms-powerpoint", "ppt"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "pptx"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/xml", "xml"],
  ["application/zip", "zip"],
  ["audio/mpeg", "mp3"],
  ["audio/mp4", "m4a"],
  ["audio/ogg", "ogg"],
  ["audio/wav", "wav"],
  ["image/bmp", "bmp"],
  ["image/gif", "gif"],
  ["image/heic", "heic"],
  ["image/jpeg", "jpg", "jpeg"],
  ["image/png", "png"],
  ["image/svg+xml", "svg"],
  ["image/tiff", "tif", "tiff"],
  ["image/webp", "webp"],
  ["message/rfc822", "eml"],
  ["message/global", "eml"],
  ["text/calendar", "ics"],
  ["application/ics", "ics"],
  ["text/css", "css"],
  ["text/csv", "csv"],
  ["text/html", "html", "htm"],
  ["text/markdown", "md"],
  ["text/plain", "txt", "log"],
  ["text/rtf", "rtf"],
  ["text/vcard", "vcf"],
  ["text/xml", "xml"],
  ["video/mp4", "mp4"],
  ["video/quicktime", "mov"],
  ["video/webm", "webm"],
];

const extensions: ReadonlyMap<string, string> = new Map(known.map(([type, extension = "bin"]) => [type, extension]));
const types: ReadonlyMap<string, string> = new Map(
  known.flatMap(([type, ...all]) => all.map((extension) => [extension, type] as const)).toReversed(),
);
