import { NoText } from "./no-text.ts";
import { type OdfRows, odfSheetRows, odfTableRows } from "./odf-rows.ts";
import { type OdfStyles, odfStyles } from "./odf-styles.ts";
import { partOf } from "./package-parts.ts";
import type { TextSheet } from "./text-sheet.ts";
import { readXml, type XmlReader } from "./xml.ts";
import type { Zip } from "./zip.ts";

/** Reads an OpenDocument file (OpenDocument 1.3 part 3): notes and comments in place, deleted and hidden text left out. */
export function readOdf(zip: Zip, kind: "odt" | "ods" | "odp", sheet: TextSheet): void {
  const manifest = zip.read("META-INF/manifest.xml");
  if (zip.has("encrypted-package") || manifest?.includes("encryption-data")) throw new NoText("encrypted");
  const styles = odfStyles();
  const named = zip.read("styles.xml");
  if (named !== undefined) readXml(named, { open: styles.open });
  readXml(
    partOf(zip, "content.xml"),
    content(sheet, styles, kind === "ods" ? odfSheetRows(sheet) : odfTableRows(sheet)),
  );
}

/** Elements whose text is not that of the document: deleted and alternative texts, scripts, numbers of notes, declarations. */
const skipped: ReadonlySet<string> = new Set([
  "dc:date",
  "meta:date-string",
  "office:event-listeners",
  "office:font-face-decls",
  "office:scripts",
  "presentation:date-time-decl",
  "presentation:footer-decl",
  "presentation:header-decl",
  "svg:desc",
  "svg:title",
  "table:content-validations",
  "text:hidden-paragraph",
  "text:hidden-text",
  "text:note-citation",
  "text:ruby-text",
  "text:tracked-changes",
]);

/** The attributes that name the style of an element. */
const styleAttributes = ["text:style-name", "table:style-name", "draw:style-name", "presentation:style-name"];

/** Reads the automatic styles and then the body. */
function content(sheet: TextSheet, styles: OdfStyles, rows: OdfRows): XmlReader {
  let paragraphs = 0;
  let isCreator = false;
  let creator = "";

  function endNote(name: string): void {
    const note = sheet.takeApart().trim().replaceAll("\n", " ");
    if (note === "") return;
    sheet.add(`${paragraphs > 0 ? " " : ""}[${name}: ${note}]`);
    // In a cell, its paragraphs follow.
    if (paragraphs === 0) sheet.endLine();
  }

  return {
    open(name, attribute) {
      if (styles.open(name, attribute)) return;
      if (skipped.has(name) || attribute("text:display") === "none") return false;
      if (styleAttributes.some((style) => styles.hides(attribute(style)))) return false;
      switch (name) {
        case "text:p":
        case "text:h":
          paragraphs++;
          return;
        case "text:s":
          return sheet.add(" ".repeat(Math.min(Number(attribute("text:c") ?? 1) || 1, mostSpaces)));
        case "text:tab":
          return sheet.add("\t");
        case "text:line-break":
          return sheet.add("\n");
        case "text:note":
        case "office:annotation":
          creator = "";
          return sheet.beginApart();
        case "dc:creator":
          isCreator = true;
          return;
        case "draw:page":
          return sheet.beginPage();
        case "presentation:notes":
          return sheet.endBlock();
        default:
          return rows.open(name, attribute);
      }
    },
    close(name) {
      switch (name) {
        case "text:p":
        case "text:h":
          paragraphs--;
          return sheet.endLine();
        case "text:note":
          return endNote("note");
        case "office:annotation":
          return endNote(creator === "" ? "comment" : `comment: ${creator}`);
        case "dc:creator":
          isCreator = false;
          return;
        case "draw:frame":
          return sheet.endLine();
        default:
          return rows.close(name);
      }
    },
    text(text) {
      if (isCreator) creator += text;
      else if (paragraphs > 0) sheet.add(text.replaceAll(/[\t\n\r ]+/g, " "));
    },
  };
}

/** The most spaces that one element adds. */
const mostSpaces = 80;
