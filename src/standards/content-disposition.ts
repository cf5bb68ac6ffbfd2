/**
 * `attachment` with a file name of any characters (RFC 6266 §5): in ASCII for old clients, and in UTF-8 by RFC 8187 for all
 * others. A `%` in the first would be decoded by some of them, a quote or backslash would end it.
 */
export function attachmentDisposition(filename: string): string {
  return `attachment; filename="${plainName(filename)}"; filename*=UTF-8''${encodedName(filename)}`;
}

/**
 * The same of a part of a mail, as tokens between which it may be folded (RFC 2183, RFC 2231). The name for old readers comes
 * second, since a common one takes the first that it finds; where it says all, it stands alone. `filename` is clean text.
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
 * The type to serve a stored one as. What a browser would run or render as a page becomes bytes, whoever names it how; so
 * does what is no type at all.
 */
export function harmlessType(contentType: string): string {
  const isType = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/.test(contentType);
  return isType && !active.test(contentType) ? contentType : "application/octet-stream";
}

const active = /html|xml|svg|xsl|script|x-shockwave-flash|^multipart\//;

/** What a part of a form is called, and the name of its file where it has one (RFC 7578 §4.2); `undefined` where it is no such field. */
export function parseFormDisposition(field: string): { name: string; filename: string | undefined } | undefined {
  const found: Partial<Record<"name" | "filename", string>> = {};
  const type = /^\s*form-data\s*(?=;)/i.exec(field);
  if (type === null) return undefined;
  for (const [, name = "", quoted, bare = ""] of field.slice(type[0].length).matchAll(formParameter)) {
    const wanted = name.toLowerCase();
    if (wanted !== "name" && wanted !== "filename") continue;
    // Twice is what two readers would read differently.
    if (found[wanted] !== undefined) return undefined;
    found[wanted] = quoted === undefined ? bare : unescaped(quoted);
  }
  return found.name === undefined ? undefined : { name: found.name, filename: found.filename };
}

const formParameter = /;\s*([a-z*]+)=(?:"((?:[^"\\]|\\.)*)"|([^;"\s]*))/gi;

/** Browsers write a quote as `%22`, and curl as `\"`; a backslash before anything else is one of a Windows path. */
function unescaped(quoted: string): string {
  return quoted
    .replace(/\\(["\\])/g, "$1")
    .replace(/%(22|0D|0A)/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
}
