import { expect } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";

interface Documented {
  operationId: string;
  summary?: string;
  description?: string;
  security?: unknown[];
  tags?: string[];
  parameters: { name: string; in: string; required: boolean; description?: string; schema: object }[];
  requestBody?: { content: Record<string, { schema: object; example?: unknown }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: object; example?: unknown }> }>;
}

export interface OpenApiDocument {
  paths: Record<string, Record<string, Documented>>;
}

/** Checks a document: valid by a foreign parser, and complete. */
export async function expectWholeDocument(document: OpenApiDocument): Promise<void> {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(document) as never);
  expect({ valid, errors }).toEqual({ valid: true, errors: undefined });
  validator.resolveRefs();

  const ids = new Set<string>();
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const where = `${method.toUpperCase()} ${path}`;
      const isOpen = operation.security?.length === 0;

      expect([where, operation.description]).toEqual([where, expect.stringMatching(/\w+ \w+/)]);
      expect([where, operation.tags]).toEqual([where, [expect.any(String)]]);
      expect([where, ids.has(operation.operationId)]).toEqual([where, false]);
      ids.add(operation.operationId);

      const inPath = Array.from(path.matchAll(/\{([^}]+)\}/g), ([, name = ""]) => name);
      const documented = operation.parameters.filter((parameter) => parameter.in === "path");
      expect([where, documented.map(({ name }) => name)]).toEqual([where, inPath]);
      for (const { name, description } of operation.parameters) {
        expect([where, name, description]).toEqual([where, name, expect.stringMatching(/\w+ \w+/)]);
      }

      const statuses = Object.keys(operation.responses);
      expect([where, statuses]).toEqual([
        where,
        expect.arrayContaining(["500", "503", ...(isOpen ? [] : ["401"]), ...(inPath.length > 0 ? ["404"] : [])]),
      ]);
      for (const [status, { content }] of Object.entries(operation.responses)) {
        // Pages for people are HTML, too.
        const types = Object.keys(content ?? {}).filter((type) => type !== "text/html");
        // Only 416 has no body.
        if (Number(status) < 400 || status === "416") continue;
        expect([where, types]).toEqual([where, ["application/problem+json", "application/json"]]);
      }
      const bodies = [operation.requestBody, ...Object.values(operation.responses)];
      for (const [, media] of bodies.flatMap((body) => Object.entries(body?.content ?? {}).slice(0, 1))) {
        expect([where, "example" in media || "examples" in media]).toEqual([where, true]);
      }
    }
  }
}

/** The document with each reference replaced by its target. */
export function dereferenced<Document extends object>(document: Document): Document {
  const replaced = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(replaced);
    if ("$ref" in value) return replaced(referredTo(document, String(value.$ref)));
    return Object.fromEntries(Object.entries(value).map(([name, child]) => [name, replaced(child)]));
  };
  return replaced(document) as Document;
}

function referredTo(document: object, place: string): unknown {
  const steps = place.replace(/^#\//, "").split("/");
  return steps.reduce<unknown>((value, step) => (value as Record<string, unknown>)[step], document);
}
