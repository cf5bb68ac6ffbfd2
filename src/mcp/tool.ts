import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Inboxd } from "../../sdk/typescript/src/inboxd.ts";

/**
 * A tool that a model may call. `call` checks the arguments, and returns a value of the output schema or throws a
 * `ToolFailure`, which the model sees.
 */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: TObject;
  output: TObject;
  hints: Hints;
  /** Whether it works on the whole account. A model that is limited to one inbox does not get it. */
  isAboutAccount: boolean;
  call(args: unknown, context: Context): Promise<object>;
}

/** The annotations of MCP. A missing one is false. */
export interface Hints {
  readOnly?: true;
  idempotent?: true;
  destructive?: true;
  openWorld?: true;
}

/** A failure that the model sees, from the API or from a tool. */
export class ToolFailure extends Error {
  readonly code: string;

  constructor(code: string, detail: string) {
    super(detail);
    this.name = "ToolFailure";
    this.code = code;
  }
}

export interface Context {
  api: Inboxd;
  /** The one inbox that the model is limited to: its address, username or id. */
  fence: string | undefined;
  randomBytes(length: number): Uint8Array;
  /** The text of all guides of the service. */
  guides(): Promise<string>;
  /** Tells the client how far a call is. Undefined if the client did not ask for it. */
  progress: Progress | undefined;
}

export type Progress = (told: { progress: number; total: number; message: string }) => void;

interface Definition<Input extends TObject, Output extends TObject> {
  name: string;
  title: string;
  description: string;
  input: Input;
  output: Output;
  hints: Hints;
  isAboutAccount?: boolean;
  work(args: Static<Input>, context: Context): Promise<Static<Output>>;
}

export function tool<Input extends TObject, Output extends TObject>({
  work,
  isAboutAccount = false,
  ...described
}: Definition<Input, Output>): Tool {
  return {
    ...described,
    isAboutAccount,
    call: async (args, context) => {
      const mayBeLeftOut = context.fence === undefined ? undefined : "inbox";
      return (await work(checked(described.input, args, mayBeLeftOut) as Static<Input>, context)) as object;
    },
  };
}

/** The arguments with their defaults. Throws all their faults at once. */
function checked(schema: TObject, args: unknown, mayBeLeftOut: string | undefined): object {
  if (args !== undefined && (typeof args !== "object" || args === null || Array.isArray(args))) {
    throw new ToolFailure("validation_error", "Cannot read arguments: they must be one object");
  }
  const given = (args ?? {}) as Readonly<Record<string, unknown>>;
  const faults = Object.keys(given)
    .filter((name) => !Object.hasOwn(schema.properties, name))
    .map(
      (name) => `"${name.slice(0, 50)}" is not an argument (there are ${Object.keys(schema.properties).join(", ")})`,
    );
  const taken: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    // Models write null for a missing argument.
    const value = converted(property, (Object.hasOwn(given, name) ? given[name] : undefined) ?? property.default);
    const isMissing = schema.required?.includes(name) && name !== mayBeLeftOut;
    const fault = value === undefined ? isMissing && "is required" : faultOf(property, value);
    if (fault) faults.push(`"${name}" ${fault}`);
    taken[name] = value;
  }
  if (faults.length > 0) throw new ToolFailure("validation_error", `Cannot read arguments: ${faults.join("; ")}`);
  return taken;
}

/** A number or boolean that stands in a string: models write them so, whatever the schema says. */
function converted(schema: TSchema, value: unknown): unknown {
  if (typeof value !== "string") return value;
  if (schema.type === "integer" && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (schema.type === "boolean" && (value === "true" || value === "false")) return value === "true";
  return value;
}

/** Checks the type and the bounds of an argument. The API checks the rest. */
function faultOf(schema: TSchema, value: unknown): string | undefined {
  if (schema.type === "boolean") return typeof value === "boolean" ? undefined : "must be true or false";
  if (schema.type === "integer") {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema;
    const isRight = Number.isSafeInteger(value) && Number(value) >= minimum && Number(value) <= maximum;
    return isRight ? undefined : `must be a whole number from ${minimum} to ${maximum}`;
  }
  if (schema.anyOf !== undefined) {
    return schema.anyOf.some((each: TSchema) => faultOf(each, value) === undefined)
      ? undefined
      : "must be a string, or a list of strings";
  }
  if (schema.type === "array") {
    const { minItems = 0, maxItems = Number.MAX_SAFE_INTEGER } = schema;
    const isRight = Array.isArray(value) && value.length >= minItems && value.length <= maxItems;
    return isRight && value.every((each) => faultOf(schema.items, each) === undefined)
      ? undefined
      : `must be a list of ${minItems} to ${maxItems} ${schema.items.description ?? "strings"}`;
  }
  if (schema.type === "object") {
    if (typeof value !== "object" || value === null) return "must be an object";
    const properties: Record<string, TSchema> = schema.properties;
    const isRight = Object.entries(value).every(([name, field]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
      return property !== undefined && faultOf(property, field) === undefined;
    });
    return isRight ? undefined : `must have only the fields ${Object.keys(properties).join(", ")}`;
  }
  if (typeof value !== "string") return "must be a string";
  if (schema.enum !== undefined && !schema.enum.includes(value)) return `must be one of ${schema.enum.join(", ")}`;
  const { minLength = 0, maxLength = Number.MAX_SAFE_INTEGER } = schema;
  if (value.length < minLength || value.length > maxLength) return `must have ${minLength} to ${maxLength} characters`;
  return undefined;
}
