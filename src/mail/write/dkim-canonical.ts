/** What a DKIM signature signs of a mail: its relaxed form (RFC 6376 §3.4.2, §3.4.4). Header text is one character an octet. */

export interface HeaderField {
  /** Lower case. */
  name: string;
  /** Name, value and folds, without the last line end. */
  text: string;
}

/** The header fields in their order, and the body. Line ends are CRLF, as on the wire. */
export function splitMail(raw: Uint8Array): { fields: HeaderField[]; body: Uint8Array } {
  const buffer = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  const gap = buffer.indexOf("\r\n\r\n");
  const header = buffer.subarray(0, gap < 0 ? buffer.length : gap).toString("latin1");
  const fields = header.split(/\r\n(?![ \t])/).map((text) => ({
    name: text
      .slice(0, Math.max(0, text.indexOf(":")))
      .trim()
      .toLowerCase(),
    text,
  }));
  return { fields, body: gap < 0 ? raw.subarray(raw.length) : raw.subarray(gap + 4) };
}

/** Name in lower case, value unfolded, white space runs one space, none at the ends, CRLF behind. */
export function relaxedField(text: string): string {
  const colon = text.indexOf(":");
  const words = text
    .slice(colon + 1)
    .replaceAll("\r\n", "")
    .split(/[ \t]+/)
    .filter((word) => word !== "");
  // Not trim(): it would take 0xA0, the last octet of `à` in UTF-8, for a space.
  return `${text.slice(0, colon).trim().toLowerCase()}:${words.join(" ")}\r\n`;
}

/** Lines without white space at their end and with single spaces within; no empty lines at the end of the body. */
export function relaxedBody(body: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(body.length + 2);
  let length = 0;
  let isSpace = false;
  let emptyLines = 0;
  const endLine = () => {
    out[length++] = carriageReturn;
    out[length++] = lineFeed;
  };
  let startsLine = true;
  for (let at = 0; at < body.length; at++) {
    const octet = body[at];
    if (octet === carriageReturn && body[at + 1] === lineFeed) {
      if (startsLine) emptyLines += 1;
      else endLine();
      at += 1;
      startsLine = true;
      isSpace = false;
    } else if (octet === space || octet === tab) {
      isSpace = true;
    } else {
      for (; emptyLines > 0; emptyLines--) endLine();
      if (isSpace) out[length++] = space;
      out[length++] = octet ?? 0;
      isSpace = false;
      startsLine = false;
    }
  }
  if (!startsLine) endLine();
  return out.slice(0, length);
}

const [tab, lineFeed, carriageReturn, space] = [9, 10, 13, 32];
