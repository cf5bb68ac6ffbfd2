import { Kind, type Static, type TObject, type TSchema, TypeRegistry } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { named, refTo } from "./schema.ts";

interface TTaggedUnion<Members extends readonly TObject[]> extends TSchema {
  [Kind]: "TaggedUnion";
  static: Static<Members[number]>;
  oneOf: Members;
}

/** The union of named schemas. The value of the field `tag` says which of them a value has. */
export function taggedUnion<Members extends readonly TObject[]>(
  tag: string,
  name: string,
  description: string,
  members: Members,
) {
  const mapping = Object.fromEntries(
    members.flatMap((member) => member.properties[tag]?.enum.map((value: string) => [value, refTo(member)])),
  );
  return named(name, {
    description,
    oneOf: members,
    discriminator: { propertyName: tag, mapping },
    [Kind]: "TaggedUnion",
  } as unknown as TTaggedUnion<Members>);
}

TypeRegistry.Set<TTaggedUnion<TObject[]>>("TaggedUnion", ({ oneOf: members }, value) =>
  members.some((member) => Value.Check(member, value)),
);
