import type { TObject, TSchema } from "@sinclair/typebox";
import { nearestName } from "../../primitives/nearest-name.ts";
import { truncateCodePoints } from "../../standards/text.ts";
import { hintForForeignName } from "./foreign-names.ts";

/** A fault and its path, a JSON Pointer in the caller's spelling. */
export interface PlacedFault {
  path: string;
  detail: string;
}

export interface KnownFields {
  /**
   * The fields of the schema, under their own names even if the caller used an alias, with defaults for missing ones.
   */
  value: unknown;
  /** Faults: unknown names, and fields that were given under their name and their alias. */
  misplaced: PlacedFault[];
  /** Spells a path in `value` as the caller did. */
  spelt(path: string): string;
}

/**
 * Picks the fields of a value that its schema has. TypeBox's own Clean lets `__proto__` and `constructor` pass, because
 * it checks whether a name is *in* the properties. An array is cut to one item more than its maximum: enough to be
 * refused, without checking a million others.
 */
export function knownFields(schema: TSchema, given: unknown): KnownFields {
  const misplaced: PlacedFault[] = [];
  const aliases = new Map<string, string>();

  /** `path` is the path in the result, `speltPath` the same in the caller's spelling. */
  function known(part: TSchema, value: unknown, path: string, speltPath: string): unknown {
    if (Array.isArray(value)) {
      if (part.type !== "array") return value;
      const kept = part.maxItems === undefined ? value : value.slice(0, part.maxItems + 1);
      return kept.map((item, index) => known(part.items, item, `${path}/${index}`, `${speltPath}/${index}`));
    }
    if (typeof value !== "object" || value === null || part.properties === undefined) return value;
    return fieldsOf(part as TObject, value as Record<string, unknown>, path, speltPath);
  }

  function fieldsOf({ properties }: TObject, value: Record<string, unknown>, path: string, speltPath: string) {
    const fields: Record<string, unknown> = {};
    let taken = 0;
    for (const name of Object.keys(properties)) {
      const property = properties[name] as TSchema;
      const alias = aliasOf(property);
      const hasAlias = alias !== undefined && Object.hasOwn(value, alias);
      const hasName = Object.hasOwn(value, name);
      taken += Number(hasName) + Number(hasAlias);
      if (hasName && hasAlias) {
        misplaced.push({ path: `${speltPath}/${name}`, detail: `must be given once, as ${name} or as ${alias}` });
      }
      const spelling = hasAlias && !hasName ? alias : name;
      if (spelling !== name) aliases.set(`${path}/${name}`, spelling);
      if (hasName || hasAlias) {
        fields[name] = known(property, value[spelling], `${path}/${name}`, `${speltPath}/${spelling}`);
      } else if (property.default !== undefined) fields[name] = property.default;
    }
    reportUnknown(properties, value, taken, speltPath);
    return fields;
  }

  function reportUnknown(properties: TObject["properties"], value: object, taken: number, speltPath: string): void {
    const all = Object.keys(value);
    if (all.length === taken) return;
    const names = Object.keys(properties);
    const spellings = new Set([...names, ...Object.values(properties).map(aliasOf)]);
    for (const name of all) {
      if (misplaced.length >= mostMisplaced) return;
      if (spellings.has(name)) continue;
      const hint = hintFor(name, names);
      const detail = hint === undefined ? "is not known here" : `is not known here; ${hint}`;
      misplaced.push({ path: `${speltPath}/${pointerToken(shownName(name))}`, detail });
    }
  }

  const value = known(schema, given, "", "");
  return { value, misplaced, spelt: (path) => (aliases.size === 0 ? path : speltBy(aliases, path)) };
}

/** The hint for an unknown name: our name for a field that another service calls so, or else the known name that is spelt most alike. */
function hintFor(unknown: string, names: readonly string[]): string | undefined {
  const foreign = hintForForeignName(unknown, names);
  if (foreign !== undefined) return foreign;
  const meant = nearestName(unknown, names);
  return meant === undefined ? undefined : `did you mean "${meant}"?`;
}

/** The most unknown names in an answer: half of its faults. The rest is for faults of known fields. */
const mostMisplaced = 50;

/** A caller's name as an answer shows it: cut to 64 characters, and without characters that hide or reorder text. */
function shownName(name: string): string {
  const cut = truncateCodePoints(name, longestShown);
  return (cut.length < name.length ? `${cut}…` : cut).toWellFormed().replace(unshowable, "\ufffd");
}

const longestShown = 64;

/** Control characters, direction marks, characters without a glyph, and Unicode's line breaks. */
const unshowable = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Escapes a name for a JSON Pointer (RFC 6901 §3). */
function pointerToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

function speltBy(aliases: ReadonlyMap<string, string>, path: string): string {
  let at = "";
  let spelt = "";
  for (const token of path.split("/").slice(1)) {
    at += `/${token}`;
    spelt += `/${aliases.get(at) ?? token}`;
  }
  return spelt;
}

/** A symbol, so that the document leaves it out. */
const aliasKey = Symbol("alias");

/**
 * Gives a field or parameter a second name for callers. Handlers, fingerprints and the document use the first name; the description in
 * the document also has the second.
 */
export function alsoNamed<Schema extends TSchema>(alias: string, schema: Schema): Schema {
  const description = [schema.description, `Also accepted as \`${alias}\``].filter(Boolean).join(". ");
  return { ...schema, description, [aliasKey]: alias };
}

export function aliasOf(schema: TSchema): string | undefined {
  return schema[aliasKey as unknown as string] as string | undefined;
}
