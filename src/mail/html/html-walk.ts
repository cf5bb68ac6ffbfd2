import { firstFrom } from "../../primitives/first-from.ts";
import { decodedAttribute, decodedText } from "./entities.ts";
import { lookReader, plainLook } from "./hidden-style.ts";
import type { HtmlElement } from "./html-element.ts";
import { emptyElements, scanHtml, type Tag } from "./html-tags.ts";
import { openElements } from "./open-elements.ts";

/** A part of the page in reading order: words, words whose line breaks count, or the beginning of a new line. */
export interface HtmlPiece {
  kind: "words" | "preformatted" | "break";
  start: number;
  end: number;
  parent: HtmlElement | undefined;
}

export interface HtmlWalk {
  /** The window of the HTML that was read. */
  html: string;
  /** The elements, in the order of their start tags. */
  elements: readonly HtmlElement[];
  pieces: readonly HtmlPiece[];
}

/** Extraction examines this many characters of a mail's HTML. */
export const htmlWindow = 256 * 1024;

/**
 * Finds the elements and words of any HTML in linear time, without a tree parser. An end tag finds its element by name, and the words of an
 * element nested too deeply belong to the element around it.
 */
export function walkHtml(html: string, window = htmlWindow): HtmlWalk {
  const within = html.slice(0, window);
  const elements: HtmlElement[] = [];
  const pieces: HtmlPiece[] = [];
  const open = openElements();
  const lookOf = lookReader();

  const addBreak = (start: number, end: number) => {
    const last = pieces.at(-1);
    const isBroken = last?.kind === "break" && !isHidden(last);
    if (!isBroken && pieces.length < maxPieces) pieces.push({ kind: "break", start, end, parent: open.innermost() });
  };
  const add = ({ name, attributes: written, start, end }: Tag, elementEnd: number): HtmlElement => {
    const parent = open.innermost();
    const attributes = decodedAttributes(written);
    const look = lookOf(attributes, parent?.look ?? plainLook);
    const element = {
      name,
      attributes,
      start,
      contentStart: end,
      contentEnd: elementEnd,
      end: elementEnd,
      parent,
      look,
    };
    elements.push(element);
    return element;
  };
  scanHtml(within, {
    keeps: () => true,
    onText: (start, end) => {
      const parent = open.innermost();
      if (parent?.name === "head" || pieces.length >= maxPieces) return;
      pieces.push({ kind: open.has("pre") ? "preformatted" : "words", start, end, parent });
    },
    onTag: (tag) => {
      const { name, closes, start, end, elementEnd } = tag;
      if (closes) {
        if (breaking.has(name)) addBreak(start, end);
        open.closeByTag(name, start, end);
        return;
      }
      open.closeImplied(name, start);
      if (breaking.has(name)) addBreak(start, end);
      if (elements.length >= maxElements) return;
      if (emptyElements.has(name)) add(tag, end);
      else if (elementEnd !== undefined) add(tag, elementEnd < within.length ? elementEnd : html.length);
      else if (open.hasRoom()) open.push(add(tag, html.length));
    },
  });
  return { html: within, elements, pieces };
}

/** The most elements. Further ones are dropped, but their tags do not count as words; real mail has fewer in a window. */
const maxElements = 32_768;

/** The most pieces of a page. Further ones are dropped. */
const maxPieces = 32_768;

/** True if the words of a piece are hidden, or if it is a break inside a hidden element. */
export function isHidden({ parent }: HtmlPiece): boolean {
  return parent?.look.hidden === true;
}

/** The attributes with their entities decoded. */
export function decodedAttributes(attributes: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  let isWritten = false;
  for (const value of attributes.values()) isWritten ||= value.includes("&");
  if (!isWritten) return attributes;
  const values = new Map<string, string>();
  for (const [name, written] of attributes) values.set(name, decodedAttribute(written));
  return values;
}

/**
 * The visible words, line by line. Inline tags do not separate words; block tags, cells and `<br>` begin a new line. Hidden words are
 * left out, unless there are no others.
 */
export function visibleTextOf(html: string): string {
  return visibleTextOfWalk(walkHtml(html));
}

/** The visible words of HTML that was parsed already, as `visibleTextOf` returns them. */
export function visibleTextOfWalk(walk: HtmlWalk): string {
  const seen = linesOf(
    walk,
    walk.pieces.filter((piece) => !isHidden(piece)),
  );
  return seen === "" ? linesOf(walk, walk.pieces) : seen;
}

/** The lines of these pieces, trimmed and without empty ones. */
export function linesOf({ html }: HtmlWalk, pieces: readonly HtmlPiece[]): string {
  const lines: string[] = [];
  let line = "";
  const endLine = () => {
    const words = withSingleSpaces(line).trim();
    if (words !== "") lines.push(words);
    line = "";
  };
  for (const { kind, start, end } of pieces) {
    if (kind === "break") {
      endLine();
      continue;
    }
    const words = decodedText(html.slice(start, end));
    if (kind === "words") {
      line += words;
      continue;
    }
    const [first = "", ...rest] = words.split("\n");
    line += first;
    for (const next of rest) {
      endLine();
      line = next;
    }
  }
  endLine();
  return lines.join("\n");
}

/**
 * Replaces every run of HTML's white space with one space. Most lines are short, and are first tested with one pattern. In a long text,
 * replacing one kind of white space after the other takes a third of the time of one pattern for all.
 */
export function withSingleSpaces(words: string): string {
  if (words.length < fewWords && !looseSpaces.test(words)) return words;
  let spaced = words;
  for (const sign of otherSpaces) if (spaced.includes(sign)) spaced = spaced.replaceAll(sign, " ");
  return spaced.includes("  ") ? spaced.replaceAll(/ {2,}/g, " ") : spaced;
}

const fewWords = 64;
const looseSpaces = /[\n\r\t\f]| {2}/;
const otherSpaces: readonly string[] = ["\n", "\r", "\t", "\f"];

/** The pieces within an element. */
export function piecesWithin(walk: HtmlWalk, { contentStart, contentEnd }: HtmlElement): readonly HtmlPiece[] {
  return piecesBetween(walk, contentStart, contentEnd);
}

/** The pieces that begin between two offsets. */
export function piecesBetween({ pieces }: HtmlWalk, start: number, end: number): readonly HtmlPiece[] {
  return pieces.slice(firstFrom(pieces, start), firstFrom(pieces, end));
}

/** The elements that begin a new line, and end it after their content. */
const breaking: ReadonlySet<string> = new Set([
  ..."address article aside blockquote body br center dd details dialog dir div dl dt fieldset figcaption figure footer form".split(
    " ",
  ),
  ..."h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search section summary ul".split(
    " ",
  ),
  ..."table caption thead tbody tfoot tr td th".split(" "),
]);
