import { decodeText } from "../read/charset.ts";

/** Receives the parts of an XML document in their order. */
export interface XmlReader {
  /** Called for the start of an element. The result `false` skips everything inside it, and its end. */
  open(name: string, attributes: XmlAttributes): unknown;
  close?(name: string): void;
  text?(text: string): void;
}

/** The value of an attribute; undefined if the element lacks it. Its name has the usual prefix, as in `w:val`. */
export type XmlAttributes = (name: string) => string | undefined;

/**
 * Reads XML in one pass over its tags. It checks nothing, and builds no tree, so nesting costs nothing. A DOCTYPE is skipped and no entity
 * of it is followed; only the five predefined entities and numbers of characters are decoded.
 */
export function readXml(bytes: Buffer, reader: XmlReader): void {
  const xml = decodeText(bytes, "utf-8");
  const names = nameReader();
  let skipped = 0;
  for (let at = 0; at < xml.length; ) {
    const tag = xml.indexOf("<", at);
    if (tag !== at && skipped === 0) reader.text?.(decoded(xml.slice(at, tag < 0 ? xml.length : tag)));
    if (tag < 0) return;
    if (xml.startsWith("<!", tag) || xml.startsWith("<?", tag)) {
      const [end, text] = declaration(xml, tag);
      if (text !== "" && skipped === 0) reader.text?.(text);
      at = end;
      continue;
    }
    const end = endOfTag(xml, tag + 1);
    at = end + 1;
    if (xml[tag + 1] === "/") {
      if (skipped > 0) skipped--;
      if (skipped === 0) reader.close?.(names.nameOf(xml.slice(tag + 2, end).trimEnd()));
      continue;
    }
    const closes = xml[end - 1] === "/";
    const inside = xml.slice(tag + 1, closes ? end - 1 : end);
    if (skipped > 0) {
      if (!closes) skipped++;
      continue;
    }
    const [, written = ""] = /^([^\s]*)/.exec(inside) ?? [];
    names.learn(inside);
    const name = names.nameOf(written);
    const goesIn = reader.open(name, attributesOf(inside.slice(written.length), names)) !== false;
    if (closes) {
      if (goesIn) reader.close?.(name);
    } else if (!goesIn) skipped = 1;
  }
}

/** The offset after a comment, CDATA section, declaration or instruction at `start`, and the text of a CDATA section. */
function declaration(xml: string, start: number): [end: number, text: string] {
  if (xml.startsWith("<!--", start)) return [behind(xml, "-->", start + 4), ""];
  if (xml.startsWith("<![CDATA[", start)) {
    const end = behind(xml, "]]>", start + 9);
    return [end, xml.slice(start + 9, end - 3)];
  }
  const end = behind(xml, ">", start);
  // The internal subset of a DOCTYPE may contain further declarations.
  return [xml.slice(start, end).includes("[") ? behind(xml, "]>", start) : end, ""];
}

function behind(xml: string, mark: string, from: number): number {
  const found = xml.indexOf(mark, from);
  return found < 0 ? xml.length : found + mark.length;
}

/** The offset of the `>` that ends a tag. The values of attributes may contain others. */
function endOfTag(xml: string, from: number): number {
  let quote = 0;
  for (let at = from; at < xml.length; at++) {
    const code = xml.charCodeAt(at);
    if (quote !== 0) {
      if (code === quote) quote = 0;
    } else if (code === 0x3e) return at;
    else if (code === 0x22 || code === 0x27) quote = code;
  }
  return xml.length;
}

interface Names {
  /** Learns the prefixes that a tag declares. Their scope is ignored. */
  learn(tag: string): void;
  nameOf(written: string): string;
}

/** Replaces the prefixes of a document by the usual ones, because a writer may choose others (Namespaces in XML 1.0 §4). */
function nameReader(): Names {
  const usual = new Map<string, string>();
  const known = new Map<string, string>();
  return {
    learn(tag) {
      if (!tag.includes("xmlns")) return;
      for (const [, prefix = "", uri = ""] of tag.matchAll(/\sxmlns(?::([^\s=]{1,100}))?=["']([^"'<]{0,300})["']/g)) {
        usual.set(prefix, usualPrefix(decoded(uri)) ?? prefix);
        known.clear();
      }
    },
    nameOf(written) {
      const name = known.get(written) ?? renamed(written, usual);
      if (known.size < 1000) known.set(written, name);
      return name;
    },
  };
}

function renamed(written: string, usual: ReadonlyMap<string, string>): string {
  const colon = written.indexOf(":");
  const prefix = usual.get(colon < 0 ? "" : written.slice(0, colon));
  if (prefix === undefined) return written;
  const local = written.slice(colon + 1);
  return prefix === "" ? local : `${prefix}:${local}`;
}

/** The usual prefix of a namespace of OpenDocument or Office Open XML (transitional and strict). The main one of spreadsheets has none. */
function usualPrefix(uri: string): string | undefined {
  const [, odf] = /^urn:oasis:names:tc:opendocument:xmlns:([a-z-]{1,30}):/.exec(uri) ?? [];
  if (odf !== undefined) return odfPrefixes[odf] ?? odf;
  const [, ooxml] =
    /^https?:\/\/(?:schemas\.openxmlformats\.org|purl\.oclc\.org\/ooxml)\/([a-zA-Z]{1,30})/.exec(uri) ?? [];
  if (ooxml === undefined) return undefined;
  if (ooxml === "officeDocument") return /relationships$/.test(uri) ? "r" : undefined;
  if (ooxml === "drawingml") return /main$/.test(uri) ? "a" : undefined;
  return ooxmlPrefixes[ooxml];
}

const odfPrefixes: Readonly<Record<string, string>> = {
  "xsl-fo-compatible": "fo",
  "svg-compatible": "svg",
  drawing: "draw",
};

const ooxmlPrefixes: Readonly<Record<string, string>> = {
  wordprocessingml: "w",
  spreadsheetml: "",
  presentationml: "p",
  package: "",
};

function attributesOf(written: string, names: Names): XmlAttributes {
  let values: ReadonlyMap<string, string> | undefined;
  return (name) => {
    values ??= attributesIn(written, names);
    return values.get(name);
  };
}

/** Reads the attributes of a tag. The search for the next `=` and the next quote keeps it linear. */
function attributesIn(written: string, names: Names): Map<string, string> {
  const values = new Map<string, string>();
  for (let at = 0; ; ) {
    const equals = written.indexOf("=", at);
    let start = equals + 1;
    while (isSpace(written.charCodeAt(start))) start++;
    const quote = written[start] ?? "";
    const end = quote === '"' || quote === "'" ? written.indexOf(quote, start + 1) : -1;
    if (equals < 0 || end < 0) return values;
    const attribute = written.slice(at, equals).trim();
    const key = attribute.includes(":") ? names.nameOf(attribute) : attribute;
    if (!values.has(key)) values.set(key, decoded(written.slice(start + 1, end)));
    at = end + 1;
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d;
}

function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    /&(?:#x([0-9a-fA-F]{1,6})|#([0-9]{1,7})|(amp|lt|gt|quot|apos));/g,
    (whole, hex, decimal, name) => {
      if (name !== undefined) return predefined[name] ?? whole;
      const point = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
      return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    },
  );
}

const predefined: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
