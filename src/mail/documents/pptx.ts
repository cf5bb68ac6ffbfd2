import { plainColor } from "../html/hidden-style.ts";
import { partOf, relationsOf } from "./package-parts.ts";
import { tableRows } from "./table-rows.ts";
import type { TextSheet } from "./text-sheet.ts";
import { readXml } from "./xml.ts";
import type { Zip } from "./zip.ts";

const presentation = "ppt/presentation.xml";

/** Reads a presentation (ECMA-376-1 §19): the shown slides in order, each with its notes. */
export function readPptx(zip: Zip, sheet: TextSheet): void {
  const relations = relationsOf(zip, presentation);
  for (const id of slidesIn(partOf(zip, presentation))) {
    const part = relations.find((each) => each.id === id)?.target ?? "";
    const bytes = zip.read(part);
    if (bytes === undefined || isHiddenSlide(bytes)) continue;
    sheet.beginPage();
    readShapes(bytes, sheet);
    for (const { type, target } of relationsOf(zip, part)) {
      const linked = zip.read(type === "notesSlide" || type === "comments" || type === "diagramData" ? target : "");
      if (linked === undefined) continue;
      sheet.endBlock();
      if (type === "notesSlide") readShapes(linked, sheet, true);
      else if (type === "comments") readComments(linked, sheet);
      else readShapes(linked, sheet);
    }
  }
}

function slidesIn(bytes: Buffer): string[] {
  const ids: string[] = [];
  readXml(bytes, {
    open(name, attribute) {
      if (name === "p:sldId") ids.push(attribute("r:id") ?? "");
    },
  });
  return ids;
}

function isHiddenSlide(bytes: Buffer): boolean {
  let isHidden = false;
  readXml(bytes.subarray(0, 8192), {
    open(name, attribute) {
      if (name === "p:sld") isHidden = ["0", "false"].includes(attribute("show") ?? "");
      return name === "p:sld" ? undefined : false;
    },
  });
  return isHidden;
}

/** A shape, a group, a table or a picture, whose text is dropped if it is hidden. */
interface Shape {
  element: string;
  isHidden: boolean;
  placeholder: string | undefined;
  color: string | undefined;
}

const shapeElements: ReadonlySet<string> = new Set(["p:sp", "p:grpSp", "p:graphicFrame", "p:cxnSp", "p:pic"]);

/** Reads the shapes of a slide in their order. From notes it leaves out the picture, the number and the date, which each page of notes has. */
function readShapes(bytes: Buffer, sheet: TextSheet, isNotes = false): void {
  const rows = tableRows(sheet);
  const shapes: Shape[] = [];
  let run: { color: string | undefined; ground: string | undefined } | undefined;
  /** The element around a colour that is read. */
  let colored = "";
  let isText = false;

  const isShown = () =>
    shapes.every(({ isHidden, placeholder = "body" }) => !isHidden && (!isNotes || placeholder === "body"));

  function isSeen(): boolean {
    const color = run?.color;
    return color === undefined || color !== (run?.ground ?? shapes.at(-1)?.color);
  }

  readXml(bytes, {
    open(name, attribute) {
      if (shapeElements.has(name)) {
        shapes.push({ element: name, isHidden: false, placeholder: undefined, color: undefined });
        return;
      }
      const shape = shapes.at(-1);
      switch (name) {
        case "a:t":
          isText = true;
          return;
        case "a:br":
          if (isShown()) sheet.add("\n");
          return;
        case "a:r":
        case "a:fld":
          run = { color: undefined, ground: undefined };
          return;
        case "a:tr":
          return rows.beginRow();
        case "a:tc":
          return rows.beginCell();
        case "a:ln":
        case "mc:Fallback":
        case "a:endParaRPr":
        case "p:timing":
          return false;
        case "p:cNvPr":
          if (shape !== undefined && ["1", "true"].includes(attribute("hidden") ?? "")) shape.isHidden = true;
          return;
        case "p:ph":
          if (shape !== undefined) shape.placeholder = attribute("type") ?? "body";
          return;
        case "p:spPr":
        case "a:rPr":
        case "a:highlight":
          colored = name;
          return;
        case "a:srgbClr": {
          const color = plainColor(attribute("val") ?? "");
          if (colored === "p:spPr" && shape !== undefined) shape.color = color;
          else if (colored === "a:rPr" && run !== undefined) run.color = color;
          else if (colored === "a:highlight" && run !== undefined) run.ground = color;
          return;
        }
        default:
          return;
      }
    },
    close(name) {
      if (name === shapes.at(-1)?.element) {
        shapes.pop();
        sheet.endLine();
        return;
      }
      switch (name) {
        case "a:t":
          isText = false;
          return;
        case "a:r":
        case "a:fld":
          run = undefined;
          return;
        case "a:p":
          return sheet.endLine();
        case "a:tc":
          return rows.endCell();
        case "a:tr":
          return rows.endRow();
        case "a:highlight":
          colored = "a:rPr";
          return;
        case "p:spPr":
        case "a:rPr":
          colored = "";
          return;
        default:
          return;
      }
    },
    text(text) {
      if (isText && isShown() && isSeen()) sheet.add(text);
    },
  });
}

function readComments(bytes: Buffer, sheet: TextSheet): void {
  let isText = false;
  readXml(bytes, {
    open(name) {
      isText = name === "p:text" || name === "a:t";
    },
    close() {
      isText = false;
    },
    text(text) {
      if (!isText || text.trim() === "") return;
      sheet.add(`[comment: ${text.trim()}]`);
      sheet.endLine();
    },
  });
}
