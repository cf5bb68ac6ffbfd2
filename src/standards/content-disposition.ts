/**
 * An `attachment` disposition with a file name of any characters (RFC 6266 §5): in ASCII for old clients, and in UTF-8 (RFC 8187) for others.
 * The ASCII name has no `%`, which some clients decode, and no quote or backslash, which would end it.
 */
export function attachmentDisposition(filename: string): string {
  return `attachment; filename="${plainName(filename)}"; filename*=UTF-8''${encodedName(filename)}`;
}

/**
 * The disposition of a part of a mail, as tokens for folding (RFC 2183, RFC 2231). An ASCII name is written once. Any other name is written
 * twice: encoded, then in ASCII, because a common reader uses the first one. `filename` must be clean text.
 */
export function mimeDisposition(disposition: "inline" | "attachment", filename: string): string[] {
  const plain = plainName(filename);
  const encoded = plain === filename ? [] : [`filename*=utf-8''${encodedName(filename)};`];
  return [`${disposition};`, ...encoded, `filename="${plain}"`];
}

function plainName(filename: string): string {
  return filename.replace(/[^ !#$&'()+,\-.0-9;=@A-Z[\]^_`a-z{}~]/gu, "_");
}

function encodedName(filename: string): string {
  return encodeURIComponent(filename).replace(/['()*]/g, (character) => `%${hex(character)}`);
}

function hex(character: string): string {
  return character.charCodeAt(0).toString(16).toUpperCase();
}

/**
 * The media type with which a stored file is served. It is `application/octet-stream` if the file's own type is invalid, or is one that a
 * browser runs or renders as a page.
 */
export function harmlessType(contentType: string): string {
  const isType = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/.test(contentType);
  return isType && !active.test(contentType) ? contentType : "application/octet-stream";
}

const active = /html|xml|svg|xsl|script|x-shockwave-flash|^multipart\//;

/** Parses the Content-Disposition of a part of a form: its name and, if any, its file name (RFC 7578 §4.2). `undefined` if invalid. */
export function parseFormDisposition(field: string): { name: string; filename: string | undefined } | undefined {
  const found: Partial<Record<"name" | "filename", string>> = {};
  const type = /^\s*form-data\s*(?=;)/i.exec(field);
  if (type === null) return undefined;
  for (const [, name = "", quoted, bare = ""] of field.slice(type[0].length).matchAll(formParameter)) {
    const wanted = name.toLowerCase();
    if (wanted !== "name" && wanted !== "filename") continue;
    // A repeated parameter is refused, since readers differ in which one they use.
    if (found[wanted] !== undefined) return undefined;
    found[wanted] = quoted === undefined ? bare : unescaped(quoted);
  }
  return found.name === undefined ? undefined : { name: found.name, filename: found.filename };
}

const formParameter = /;\s*([a-z*]+)=(?:"((?:[^"\\]|\\.)*)"|([^;"\s]*))/gi;

/**
 * Decodes a quoted name. Browsers write a quote as `%22`, curl as `\"`. Any other backslash is kept, because it belongs to a Windows path.
 */
function unescaped(quoted: string): string {
  return quoted
    .replace(/\\(["\\])/g, "$1")
    .replace(/%(22|0D|0A)/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}
