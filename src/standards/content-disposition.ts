/**
 * `attachment` with a file name of any characters (RFC 6266 §5): in ASCII for old clients, and in UTF-8 by RFC 8187 for all
 * others. A `%` in the first would be decoded by some of them, a quote or backslash would end it.
 */
export function attachmentDisposition(filename: string): string {
  const plain = filename.replace(/[^ !#$&'()+,\-.0-9;=@A-Z[\]^_`a-z{}~]/gu, "_");
  const encoded = encodeURIComponent(filename).replace(/['()*]/g, (character) => `%${hex(character)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
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
