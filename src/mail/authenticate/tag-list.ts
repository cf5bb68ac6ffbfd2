/** The tags of a list such as `v=1; a=rsa-sha256`; undefined if it is malformed or has a tag twice (RFC 6376 §3.2). */
export function readTagList(text: string): Map<string, string> | undefined {
  const tags = new Map<string, string>();
  const specs = text.split(";");
  if (specs.length > mostTags) return undefined;
  for (const [index, spec] of specs.entries()) {
    // A semicolon may follow the last tag.
    if (index === specs.length - 1 && trimFolds(spec) === "") break;
    const equals = spec.indexOf("=");
    const name = trimFolds(spec.slice(0, Math.max(0, equals)));
    if (!tagName.test(name) || tags.has(name)) return undefined;
    tags.set(name, trimFolds(spec.slice(equals + 1)));
  }
  return tags;
}

const mostTags = 100;
const tagName = /^[A-Za-z][A-Za-z0-9_]*$/;

/** The entries of a value that is a list with colons, in lower case. */
export function listedIn(value: string): string[] {
  return withoutFolds(value).toLowerCase().split(":");
}

/** The value without any white space, as base64 is read. */
export function withoutFolds(value: string): string {
  return value.replace(/[ \t\r\n]/g, "");
}

/** trim() would also remove 0xA0, which is half of a letter in UTF-8. */
function trimFolds(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isFold(text.charCodeAt(start))) start += 1;
  while (end > start && isFold(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isFold(code: number): boolean {
  return code === 32 || code === 9 || code === 13 || code === 10;
}
