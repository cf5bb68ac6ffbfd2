import { decodeHTML, decodeHTMLAttribute } from "entities/decode";

/** Decodes the entities in the text of HTML. */
export function decodedText(written: string): string {
  return written.includes("&") ? decodeHTML(withoutImpossible(written)) : written;
}

/** Decodes the entities in an attribute. There `&copy` without `;` is no entity before `=` or a letter: `?a=1&copy=2` is an address. */
export function decodedAttribute(written: string): string {
  return written.includes("&") ? decodeHTMLAttribute(withoutImpossible(written)) : written;
}

/** Removes numeric entities that are no character of Unicode, so that the decoder does not replace them with a visible one. */
function withoutImpossible(written: string): string {
  if (!written.includes("&#")) return written;
  return written.replaceAll(maybeImpossible, (entity, hex?: string, decimal?: string) => {
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const isCharacter = code > 0 && code <= 0x10_ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? entity : "";
  });
}

const maybeImpossible = /&#(?:[xX]((?:0|[0-9a-fA-F]{4})[0-9a-fA-F]*)|((?:0|[0-9]{5})[0-9]*));?/g;
