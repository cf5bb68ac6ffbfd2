/** Response headers of the document: a name and what it says. */
export type ShownHeaders = Readonly<Record<string, string>>;

/** The headers of an answer, with the one that every answer has. */
export function headerObjects(own: ShownHeaders) {
  const all = { "X-Request-Id": "Id of this request, the caller's own where one was sent", ...own };
  return Object.fromEntries(
    Object.entries(all).map(([name, description]) => [name, { description, schema: schemaOf(name) }]),
  );
}

function schemaOf(name: string) {
  return name === "Retry-After" ? { type: "integer", minimum: 1 } : { type: "string" };
}
