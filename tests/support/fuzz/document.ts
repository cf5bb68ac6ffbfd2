import type { ShownSchema } from "./values.ts";

export interface ShownParameter {
  name: string;
  in: "path" | "query" | "header";
  required: boolean;
  example?: unknown;
  schema: ShownSchema;
}

export interface ShownContent {
  schema?: ShownSchema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface ShownResponse {
  content?: Record<string, ShownContent>;
}

export interface ShownOperation {
  method: string;
  path: string;
  operationId: string;
  /** Some or all of its requests need no key. */
  isOpen: boolean;
  takesKey: boolean;
  parameters: ShownParameter[];
  body: ShownSchema | undefined;
  bodyIsRequired: boolean;
  responses: Record<string, ShownResponse>;
}

export interface ShownDocument {
  operations: ShownOperation[];
  methodsOf: ReadonlyMap<string, ReadonlySet<string>>;
}

interface Raw {
  paths: Record<string, Record<string, RawOperation>>;
}

interface RawOperation extends Pick<ShownOperation, "operationId" | "parameters" | "responses"> {
  security?: unknown[];
  requestBody?: { required: boolean; content: Record<string, ShownContent> };
}

/** A document without references, in the form that the fuzzer needs. */
export function readDocument({ paths }: Raw): ShownDocument {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, of]) => ({
      method: method.toUpperCase(),
      path,
      operationId: of.operationId,
      parameters: of.parameters,
      isOpen: of.security !== undefined && !Object.hasOwn(Object(of.security[0]), "apiKey"),
      takesKey: of.security?.length !== 0,
      body: of.requestBody?.content["application/json"]?.schema,
      bodyIsRequired: of.requestBody?.required ?? false,
      responses: of.responses,
    })),
  );
  const methodsOf = new Map(
    Object.entries(paths).map(([path, methods]) => [
      path,
      new Set(Object.keys(methods).map((name) => name.toUpperCase())),
    ]),
  );
  return { operations, methodsOf };
}
