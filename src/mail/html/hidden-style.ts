import { declarationsIn } from "./css-declarations.ts";

/**
 * The styles of an element that can hide its words, from its attributes. Stylesheets, and colours that must be computed, are ignored:
 * honest preheaders and simple tricks do not need them.
 */
export interface Look {
  /** True if the element hides everything inside it, whatever the styles of the elements inside it. */
  gone: boolean;
  /** True if the words directly within the element, and not in elements inside it, are hidden. */
  hidden: boolean;
  /** True for a font size of 0. Elements within may set another: templates do this in table cells. */
  tiny: boolean;
  invisible: boolean;
  /** `undefined` if no colour is set, or if it must be computed. */
  color: string | undefined;
  background: string | undefined;
}

export const plainLook: Look = {
  gone: false,
  hidden: false,
  tiny: false,
  invisible: false,
  color: undefined,
  background: undefined,
};

/** Creates a reader of looks. It parses each style once, because mail repeats a few styles hundreds of times. */
export function lookReader(): (attributes: ReadonlyMap<string, string>, around: Look) => Look {
  const styles = new Map<string, Style>();
  const styleOf = (written: string): Style => {
    const known = styles.get(written) ?? readStyle(written);
    styles.set(written, known);
    return known;
  };
  return (attributes, around) => lookOf(attributes, around, styleOf);
}

/**
 * The look of an element with these attributes, inside an element with the look `around`. Returns `around` itself if the attributes change
 * nothing.
 */
function lookOf(attributes: ReadonlyMap<string, string>, around: Look, styleOf: (written: string) => Style): Look {
  if (attributes.size === 0) return around;
  const written = attributes.get("style");
  const style = written === undefined ? undefined : styleOf(written);
  const hides = attributes.has("hidden");
  const color = attributes.get("color");
  const bgcolor = attributes.get("bgcolor");
  const picture = attributes.get("background") ?? "";
  if (!style?.isRelevant && !hides && color === undefined && bgcolor === undefined && picture === "") return around;
  const look = { ...around };
  if (color !== undefined) look.color = plainColor(color) ?? look.color;
  if (bgcolor !== undefined) look.background = plainColor(bgcolor);
  if (picture !== "") look.background = undefined;
  if (hides || style?.gone) look.gone = true;
  if (style?.tiny !== undefined) look.tiny = style.tiny;
  if (style?.invisible !== undefined) look.invisible = style.invisible;
  if (style?.color !== undefined) look.color = style.color.plain;
  if (style?.background !== undefined) look.background = style.background.plain;
  const isSameColor = look.color !== undefined && look.color === look.background;
  look.hidden = look.gone || look.tiny || look.invisible || isSameColor;
  return look;
}

/** The relevant properties of a style; `undefined` if they are not set. The `plain` of a colour is undefined if it must be computed. */
interface Style {
  /** True if it sets any property that matters here. */
  isRelevant: boolean;
  gone: boolean;
  tiny: boolean | undefined;
  invisible: boolean | undefined;
  color: { plain: string | undefined } | undefined;
  background: { plain: string | undefined } | undefined;
}

function readStyle(written: string): Style {
  const values = declarations(written);
  const isZeroHigh = isZero(values.get("height")) || isZero(values.get("max-height"));
  const clips = values.get("overflow") === "hidden" || values.get("overflow-y") === "hidden";
  const size = values.get("font-size");
  const visibility = values.get("visibility");
  const color = values.get("color");
  const background = values.get("background-color") ?? values.get("background");
  const picture = values.get("background-image") ?? "none";
  const isGround = background !== undefined && !seeThrough.has(background);
  return {
    isRelevant: values.size > 0,
    gone: values.get("display") === "none" || isZero(values.get("opacity")) || (isZeroHigh && clips),
    tiny: size === undefined || size === "inherit" ? undefined : isZero(size),
    invisible: visibility === "hidden" ? true : visibility === "visible" ? false : undefined,
    color: color === undefined || color === "inherit" ? undefined : { plain: plainColor(color) },
    background: picture !== "none" ? { plain: undefined } : isGround ? { plain: plainColor(background) } : undefined,
  };
}

const seeThrough: ReadonlySet<string> = new Set(["transparent", "none", "inherit", "initial", "unset", "0", "0 0"]);

const relevant: ReadonlySet<string> = new Set(
  "display visibility opacity font-size height max-height overflow overflow-y color background background-color background-image".split(
    " ",
  ),
);

/** The relevant declarations. The last one of a property wins, unless another is marked as important. */
function declarations(style: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  const important = new Set<string>();
  for (const declaration of declarationsIn(style)) {
    const colon = declaration.indexOf(":");
    if (colon < 0) continue;
    const property = declaration.slice(0, colon).trim().toLowerCase();
    if (!relevant.has(property)) continue;
    const written = declaration.slice(colon + 1).toLowerCase();
    const mark = written.indexOf("!");
    const isImportant = mark >= 0 && written.slice(mark + 1).trim() === "important";
    if (important.has(property) && !isImportant) continue;
    if (isImportant) important.add(property);
    values.set(property, (mark < 0 ? written : written.slice(0, mark)).trim());
  }
  return values;
}

function isZero(value: string | undefined): boolean {
  return value !== undefined && /^[+-]?(?:0+(?:\.0*)?|\.0+)(?:e[+-]?\d{1,9})?(?:[a-z]{1,5}|%)?$/.test(value);
}

/** A colour as six hexadecimal digits, from a number or a common name; otherwise undefined. */
export function plainColor(written: string): string | undefined {
  const color = written.trim().toLowerCase();
  if (Object.hasOwn(named, color)) return named[color];
  const [, hex] = /^#?([0-9a-f]{3,8})$/.exec(color) ?? [];
  if (hex?.length === 3 || (hex?.length === 4 && hex[3] === "f"))
    return [...hex.slice(0, 3)].map((digit) => digit + digit).join("");
  if (hex?.length === 6 || (hex?.length === 8 && hex.endsWith("ff"))) return hex.slice(0, 6);
  const [, red, green, blue] =
    /^rgba?\((\d{1,3})[, ](\d{1,3})[, ](\d{1,3})(?:[,/](?:1|1\.0|100%))?\)$/.exec(dense(color)) ?? [];
  if (red === undefined || green === undefined || blue === undefined) return undefined;
  return [red, green, blue].map((part) => Math.min(Number(part), 255).toString(16).padStart(2, "0")).join("");
}

/** Removes the white space around the commas and brackets of a colour. */
function dense(color: string): string {
  return color.slice(0, 60).replaceAll(/ ?([,/()]) ?/g, "$1");
}

const named: Readonly<Record<string, string>> = {
  black: "000000",
  white: "ffffff",
  red: "ff0000",
  lime: "00ff00",
  green: "008000",
  blue: "0000ff",
  navy: "000080",
  yellow: "ffff00",
  orange: "ffa500",
  gray: "808080",
  grey: "808080",
  silver: "c0c0c0",
  lightgray: "d3d3d3",
  lightgrey: "d3d3d3",
  whitesmoke: "f5f5f5",
  maroon: "800000",
  purple: "800080",
  fuchsia: "ff00ff",
  magenta: "ff00ff",
  olive: "808000",
  teal: "008080",
  aqua: "00ffff",
  cyan: "00ffff",
  ivory: "fffff0",
  snow: "fffafa",
};
