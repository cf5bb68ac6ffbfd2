import { decodeHTML, decodeHTMLAttribute } from "entities/decode";

/** The words that HTML writes, with its entities as the characters they stand for. */
export function decodedText(written: string): string {
  return written.includes("&") ? decodeHTML(withoutImpossible(written)) : written;
}

/** The value of an attribute. An entity without `;` is none before `=` or a letter there: `?a=1&copy=2` is an address. */
export function decodedAttribute(written: string): string {
  return written.includes("&") ? decodeHTMLAttribute(withoutImpossible(written)) : written;
}

/** Numbers that are no character of Unicode stand for nothing, not for a sign that a reader would see. Short ones all are characters. */
function withoutImpossible(written: string): string {
  if (!written.includes("&#")) return written;
  return written.replaceAll(maybeImpossible, (entity, hex?: string, decimal?: string) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const isCharacter = code > 0 && code <= 0x10_ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? entity : "";
  });
}

const maybeImpossible = /&#(?:[xX]((?:0|[0-9a-fA-F]{4})[0-9a-fA-F]*)|((?:0|[0-9]{5})[0-9]*));?/g;
