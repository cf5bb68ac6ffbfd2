import { NoText } from "./no-text.ts";
import { readXml, type XmlAttributes } from "./xml.ts";
import type { Zip } from "./zip.ts";

/** A link from a part of an Office Open XML package to another part (ECMA-376-2 §6.5). */
export interface Relation {
  id: string;
  /** The last word of its type, such as `slide`. */
  type: string;
  /** The name of the other part in the archive. */
  target: string;
}

export function relationsOf(zip: Zip, part: string): Relation[] {
  const slash = part.lastIndexOf("/");
  const folder = part.slice(0, slash + 1);
  const bytes = zip.read(`${folder}_rels/${part.slice(slash + 1)}.rels`);
  const relations: Relation[] = [];
  if (bytes === undefined) return relations;
  readXml(bytes, {
    open(name, attribute) {
      if (name !== "Relationship" || attribute("TargetMode") === "External") return;
      relations.push({
        id: attribute("Id") ?? "",
        type: (attribute("Type") ?? "").replace(/^.*\//, ""),
        target: resolved(attribute("Target") ?? "", folder),
      });
    },
  });
  return relations;
}

function resolved(target: string, folder: string): string {
  if (target.startsWith("/")) return target.slice(1);
  const path: string[] = [];
  for (const step of `${folder}${target}`.split("/")) {
    if (step === "..") path.pop();
    else if (step !== ".") path.push(step);
  }
  return path.join("/");
}

/** The bytes of a part without which the document has no text. */
export function partOf(zip: Zip, name: string): Buffer {
  const bytes = zip.read(name);
  if (bytes === undefined) throw new NoText("damaged");
  return bytes;
}

/** The state of a toggle such as `w:vanish`, which is on without a value (ECMA-376-1 §17.17.4). */
export function isOn(attribute: XmlAttributes, name: string): boolean {
  const value = attribute(name);
  return value === undefined || !["0", "false", "off"].includes(value);
}
