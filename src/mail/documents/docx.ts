import { plainColor } from "../html/hidden-style.ts";
import { isOn, partOf, relationsOf } from "./package-parts.ts";
import { tableRows } from "./table-rows.ts";
import { type TextSheet, textSheet } from "./text-sheet.ts";
import { readXml, type XmlAttributes, type XmlReader } from "./xml.ts";
import type { Zip } from "./zip.ts";

const mainPart = "word/document.xml";

/** Reads a text document (ECMA-376-1 §17): footnotes and comments in place, deleted and hidden text left out. */
export function readDocx(zip: Zip, sheet: TextSheet): void {
  const relations = relationsOf(zip, mainPart);
  const partsOf = (type: string) => relations.filter((each) => each.type === type).map(({ target }) => target);
  const hiding = new Set(partsOf("styles").flatMap((part) => hidingStyles(zip.read(part))));
  const notes = (name: NoteName) =>
    new Map(partsOf(`${name}s`).flatMap((part) => notesIn(zip.read(part), `w:${name}`, hiding)));
  const noted = { footnote: notes("footnote"), endnote: notes("endnote"), comment: notes("comment") };
  readXml(partOf(zip, mainPart), flow(sheet, hiding, noted));
}

type NoteName = "footnote" | "endnote" | "comment";

/** The texts of notes by their ids. */
type Noted = Readonly<Record<NoteName, ReadonlyMap<string, string>>>;

/** The ids of the styles whose text is hidden. */
function hidingStyles(bytes: Buffer | undefined): string[] {
  const ids: string[] = [];
  let id = "";
  if (bytes === undefined) return ids;
  readXml(bytes, {
    open(name, attribute) {
      if (name === "w:style") id = attribute("w:styleId") ?? "";
      else if (name === "w:vanish" && isOn(attribute, "w:val")) ids.push(id);
      return name !== "w:docDefaults" && name !== "w:tblStylePr";
    },
  });
  return ids;
}

/** The notes of a part: for each its id and its text in one line, with the author of a comment. */
function notesIn(bytes: Buffer | undefined, element: string, hiding: ReadonlySet<string>): [string, string][] {
  const notes: [string, string][] = [];
  if (bytes === undefined) return notes;
  const sheet = textSheet();
  const { open, close, text } = flow(sheet, hiding, undefined);
  let id = "";
  let author = "";
  readXml(bytes, {
    ...(text && { text }),
    open(name, attribute) {
      if (name !== element) return open(name, attribute);
      id = attribute("w:id") ?? "";
      author = attribute("w:author") ?? "";
      return sheet.beginApart();
    },
    close(name) {
      if (name !== element) return close?.(name);
      const said = sheet.takeApart().trim().replaceAll("\n", " ");
      if (said !== "") notes.push([id, author === "" ? said : `${author}: ${said}`]);
    },
  });
  return notes;
}

/** The properties of a run of text that can hide it. */
interface Run {
  isGone: boolean;
  color: string | undefined;
  /** Undefined: the ground is that of the paragraph, the cell or the page. */
  ground: string | undefined;
}

/** A paragraph, a cell, a shape or the page, with its colour if that is known. */
interface Frame {
  element: string;
  ground: string | undefined;
  run?: Run | undefined;
  isGone?: boolean;
}

/** Reads the paragraphs and tables of a part. */
function flow(sheet: TextSheet, hiding: ReadonlySet<string>, noted: Noted | undefined): XmlReader {
  const rows = tableRows(sheet);
  const frames: Frame[] = [{ element: "", ground: white }];
  let isText = false;

  const frame = () => frames.at(-1) as Frame;
  const run = () => frame().run;

  function isShown(): boolean {
    const { run: current, ground, isGone = false } = frame();
    if (current === undefined) return true;
    if (current.isGone || isGone) return false;
    return current.color === undefined || current.color !== (current.ground ?? ground);
  }

  function say(text: string): void {
    if (isShown()) sheet.add(text);
  }

  function sayNote(name: NoteName, attribute: XmlAttributes): void {
    const note = noted?.[name].get(attribute("w:id") ?? "");
    if (note !== undefined) say(` [${name}: ${note}]`);
  }

  /** Reads a property of the run, the paragraph, the cell or the page. */
  function readProperty(name: string, attribute: XmlAttributes): void {
    const current = run();
    if (name === "w:shd") {
      const fill = plainColor(attribute("w:fill") ?? "");
      if (current === undefined) frame().ground = fill ?? frame().ground;
      else current.ground = fill ?? current.ground;
    } else if (name === "w:pStyle") frame().isGone = hiding.has(attribute("w:val") ?? "");
    else if (current === undefined) return;
    else if (name === "w:vanish") current.isGone = isOn(attribute, "w:val");
    else if (name === "w:rStyle") current.isGone ||= hiding.has(attribute("w:val") ?? "");
    else if (name === "w:color") current.color = plainColor(attribute("w:val") ?? "");
    else if (name === "w:highlight") current.ground = plainColor(attribute("w:val") ?? "") ?? "";
    // A size of one point, in half points.
    else if (name === "w:sz") current.isGone ||= Number(attribute("w:val")) <= 2;
  }

  return {
    open(name, attribute) {
      switch (name) {
        case "w:t":
        case "m:t":
          isText = true;
          return;
        case "w:p":
          frames.push({ element: name, ground: frame().ground });
          return;
        case "w:r":
          frame().run = { isGone: false, color: undefined, ground: undefined };
          return;
        case "w:rPr":
          // Outside a run these are the properties of a paragraph's mark.
          return run() !== undefined;
        case "w:tab":
          // Inside `w:tabs` it is a tab stop.
          return run() === undefined ? undefined : say("\t");
        case "w:br":
        case "w:cr":
          return say("\n");
        case "w:noBreakHyphen":
          return say("-");
        case "w:tbl":
          sheet.endLine();
          // The style of a table can colour its cells.
          frames.push({ element: name, ground: undefined });
          return;
        case "w:tr":
          return rows.beginRow();
        case "w:tc":
          rows.beginCell();
          frames.push({ element: name, ground: frame().ground });
          return;
        case "w:txbxContent":
          sheet.endLine();
          frames.push({ element: name, ground: undefined });
          return;
        case "w:background":
          frame().ground = undefined;
          return;
        case "w:footnoteReference":
          return sayNote("footnote", attribute);
        case "w:endnoteReference":
          return sayNote("endnote", attribute);
        case "w:commentReference":
          return sayNote("comment", attribute);
        case "mc:Fallback":
        case "w:moveFrom":
        case "w:sectPr":
        case "w:tabs":
          return false;
        default:
          return readProperty(name, attribute);
      }
    },
    close(name) {
      switch (name) {
        case "w:t":
        case "m:t":
          isText = false;
          return;
        case "w:r":
          frame().run = undefined;
          return;
        case "w:tr":
          return rows.endRow();
        case "w:tc":
          rows.endCell();
          break;
        case "w:p":
        case "w:txbxContent":
          sheet.endLine();
          break;
        case "w:tbl":
          sheet.endBlock();
          break;
        default:
          return;
      }
      if (frames.length > 1 && frame().element === name) frames.pop();
    },
    text(text) {
      if (isText) say(text);
    },
  };
}

const white = "ffffff";
