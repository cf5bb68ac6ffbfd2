import { NoText } from "./no-text.ts";
import { charsetPages, decoderOfPage, rtfCharacters } from "./rtf-characters.ts";
import { rtfTokens } from "./rtf-tokens.ts";
import type { TextSheet } from "./text-sheet.ts";

/** The state of a group, which is restored behind it. */
interface Group {
  /** The part of the document that the group is: its text, a table of fonts or colours, or something that is not read. */
  part: "text" | "fonts" | "colors" | "skipped";
  /** The code page of the font. */
  page: number | undefined;
  /** The number of fallback characters behind a Unicode character. */
  fallbacks: number;
  isHidden: boolean;
  isDeleted: boolean;
  color: number;
  ground: number | undefined;
  /** The text to add at the end of the group, for a note. */
  end: string | undefined;
  isShape: boolean;
}

/** Reads Rich Text Format 1.9.1: tables as lines of cells with tabs between, notes in place, hidden and deleted text left out. */
export function readRtf(bytes: Buffer, sheet: TextSheet): void {
  const pages = new Map<number, number>();
  const colors: string[] = [];
  const outer: Group[] = [];
  let group: Group = {
    part: "text",
    page: undefined,
    fallbacks: 1,
    isHidden: false,
    isDeleted: false,
    color: 0,
    ground: undefined,
    end: undefined,
    isShape: false,
  };
  let documentPage = 1252;
  let font = 0;
  let rgb = [0, 0, 0];
  let isOptional = false;
  let isTable = false;
  let tabs = 0;
  let skipped = 0;
  let octets: number[] = [];
  let lead = "";

  function isSeen(): boolean {
    if (group.part !== "text" || group.isHidden || group.isDeleted) return false;
    const color = colors[group.color];
    // Without a ground of its own the text stands on white paper. Cells and shapes can have other colours.
    const paper = isTable || group.isShape ? undefined : white;
    return color === undefined || color !== (group.ground === undefined ? paper : (colors[group.ground] ?? paper));
  }

  function say(text: string): void {
    if (text === "" || !isSeen()) return;
    for (; tabs > 0; tabs--) sheet.add("\t");
    sheet.add(text);
  }

  /** Decodes the octets that were collected, since a letter may need two. */
  function flush(): void {
    if (octets.length === 0) return;
    const text = decoderOfPage(group.page ?? documentPage).decode(Uint8Array.from(octets));
    octets = [];
    say(text);
  }

  /** Adds a UTF-16 unit. The first one of a pair waits for the second. */
  function sayUnit(unit: number): void {
    const isLead = unit >= 0xd800 && unit <= 0xdbff;
    if (!isLead) say(lead + String.fromCharCode(unit));
    lead = isLead ? String.fromCharCode(unit) : "";
  }

  function addOctet(octet: number): void {
    if (skipped > 0) skipped--;
    else if (group.part === "colors" && octet === semicolon) {
      colors.push(rgb.map((part) => part.toString(16).padStart(2, "0")).join(""));
      rgb = [0, 0, 0];
    } else if (group.part === "text") octets.push(octet);
  }

  function beginNote(name: string): void {
    say(` [${name}: `);
    group.end = "]";
  }

  function control(word: string, value: number | undefined): void {
    const character = rtfCharacters[word];
    if (character !== undefined) {
      if (skipped > 0) skipped--;
      else say(character);
      return;
    }
    const wasOptional = isOptional;
    isOptional = false;
    switch (word) {
      case "*":
        isOptional = true;
        return;
      case "fonttbl":
        group.part = "fonts";
        return;
      case "colortbl":
        group.part = "colors";
        return;
      case "f":
        font = value ?? 0;
        if (group.part === "text") group.page = pages.get(font);
        return;
      case "fcharset":
      case "cpg": {
        const page = word === "cpg" ? value : charsetPages[value ?? 0];
        if (group.part === "fonts" && page !== undefined) pages.set(font, page);
        return;
      }
      case "ansicpg":
        documentPage = value ?? documentPage;
        return;
      case "red":
      case "green":
      case "blue":
        rgb[["red", "green", "blue"].indexOf(word)] = Math.min(255, Math.max(0, value ?? 0));
        return;
      case "u":
        sayUnit((value ?? 0) & 0xffff);
        skipped = group.fallbacks;
        return;
      case "uc":
        group.fallbacks = Math.min(Math.max(value ?? 1, 0), 9);
        return;
      case "v":
        group.isHidden = value !== 0;
        return;
      case "deleted":
        group.isDeleted = value !== 0;
        return;
      case "cf":
        group.color = value ?? 0;
        return;
      case "cb":
      case "chcbpat":
      case "highlight":
        group.ground = value === 0 ? undefined : value;
        return;
      case "plain":
        Object.assign(group, { isHidden: false, isDeleted: false, color: 0, ground: undefined });
        return;
      case "pard":
        isTable = false;
        return;
      case "intbl":
        isTable = true;
        return;
      case "par":
      case "sect":
      case "page":
        if (group.part !== "text") return;
        if (isTable) say(" ");
        else sheet.add("\n");
        return;
      case "cell":
      case "nestcell":
        if (group.part === "text") tabs++;
        return;
      case "row":
      case "nestrow":
        tabs = 0;
        sheet.endLine();
        return;
      case "footnote":
        beginNote("note");
        return;
      case "annotation":
        beginNote("comment");
        return;
      case "shptxt":
        group.isShape = true;
        return;
      default:
        if (hiddenParts.has(word) || (wasOptional && !shownOptions.has(word))) group.part = "skipped";
    }
  }

  let opened = 0;
  for (const token of rtfTokens(bytes)) {
    switch (token.kind) {
      case "open":
        flush();
        opened++;
        skipped = 0;
        outer.push(group);
        group = { ...group, end: undefined };
        break;
      case "close":
        flush();
        skipped = 0;
        if (group.end !== undefined && group.part === "text") say(group.end);
        group = outer.pop() ?? group;
        break;
      case "octet":
        addOctet(token.value);
        break;
      case "control":
        flush();
        control(token.word, token.value);
        break;
    }
  }
  flush();
  if (opened === 0) throw new NoText("damaged");
}

const white = "ffffff";
const semicolon = 0x3b;

/** Groups without text of the document. */
const hiddenParts: ReadonlySet<string> = new Set(
  "stylesheet info pict objdata objclass objalias objname header headerl headerr headerf footer footerl footerr footerf fldinst xe tc tcf rxe bkmkstart bkmkend sp shprslt nonshppict ftnsep ftnsepc aftnsep aftnsepc atnid atnauthor atntime atnicn atndate atnref atnparent revtbl listtable listoverridetable do template filetbl".split(
    " ",
  ),
);

/** Groups that old readers skip and that have text of the document. */
const shownOptions: ReadonlySet<string> = new Set(
  "shpinst annotation nesttableprops ud upr shppict footnote".split(" "),
);
