import { Type } from "@sinclair/typebox";
import type { Fault } from "../../domain/errors.ts";
import { labelOf, labelRule, mostLabels } from "../../domain/labels.ts";
import { text } from "./models.ts";

/** The schema of a field with labels. */
export function labelsField(description: string) {
  return Type.Optional(
    Type.Array(text({ min: 1, error: labelRule, examples: ["orders"] }), {
      maxItems: mostLabels,
      error: `must have at most ${mostLabels} labels`,
      description: `${description}: at most ${mostLabels} of 1 to 64 characters, without commas. They are stored in lower case`,
      examples: [["orders"]],
    }),
  );
}

/** The faults of labels that a schema cannot find. The field may have any type, because the schema reports wrong types. */
export function faultsOfLabels(name: string, field: unknown): Fault[] {
  return textsIn(field).flatMap((label, index) =>
    labelOf(label) === undefined ? [{ pointer: `#/${name}/${index}`, detail: labelRule }] : [],
  );
}

/** The texts of a field that may have any type. */
export function textsIn(field: unknown): string[] {
  return Array.isArray(field) ? field.filter((each) => typeof each === "string") : [];
}
