import type { components, paths, webhooks } from "./openapi.ts";

/** The shapes of the API by their names in its document: `Schemas["Message"]`. */
export type Schemas = components["schemas"];

/** An event as the log and the stream have it. New kinds may come: pass over what you don't know. */
export type InboxdEvent = Schemas["Event"];

/** An event as a webhook is told it. */
export type DeliveredEvent = {
  [Kind in keyof webhooks]: webhooks[Kind] extends {
    post: { requestBody: { content: { "application/json": infer Told } } };
  }
    ? Told
    : never;
}[keyof webhooks];

export type Method = "GET" | "PUT" | "POST" | "PATCH" | "DELETE";

/** The paths that know a method. A stream is none of them: its answer has no end, and `events.stream` reads it. */
export type PathOf<M extends Method> = {
  [Path in keyof paths]: paths[Path] extends { [Name in Lowercase<M>]: { responses: infer Answers } }
    ? Answers extends { 200: { content: { "text/event-stream": unknown } } }
      ? never
      : Path
    : never;
}[keyof paths];

export type OperationOf<M extends Method, Path extends PathOf<M>> = paths[Path] extends {
  [Name in Lowercase<M>]: infer Operation;
}
  ? Operation
  : never;

/** What an operation takes, beside what every call takes. */
export type Asked<Operation> = PathPart<Operation> & QueryPart<Operation> & BodyPart<Operation>;

type PathPart<Operation> = Operation extends { parameters: { path: infer Names } } ? { path: Names } : unknown;

type QueryPart<Operation> = [QueryOf<Operation>] extends [never] ? unknown : { query?: QueryOf<Operation> };

/** The parameters of a query; comma lists also as arrays. */
export type QueryOf<Operation> = Operation extends { parameters: { query?: infer Words } }
  ? [NonNullable<Words>] extends [never]
    ? never
    : { [Name in keyof NonNullable<Words>]: AlsoList<NonNullable<Words>[Name]> }
  : never;

type AlsoList<Value> = Value extends string ? (string extends Value ? Value | readonly string[] : Value) : Value;

type BodyPart<Operation> = Operation extends { requestBody: { content: infer Content } }
  ? { body: BodyOf<Content> }
  : Operation extends { requestBody?: { content: infer Content } }
    ? { body?: BodyOf<Content> }
    : unknown;

type BodyOf<Content> =
  | (Content extends { "application/json": infer Json } ? Json : never)
  | ([Exclude<keyof Content, "application/json">] extends [never] ? never : RawBody);

/** What goes out as it is. */
export type RawBody = FormData | Blob | Uint8Array<ArrayBuffer>;

/** What an operation answers when it does what it was asked. */
export type AnswerOf<Operation> = Operation extends { responses: infer Answers }
  ? { [Status in keyof Answers & (200 | 201 | 202 | 204)]: ContentOf<Answers[Status]> }[keyof Answers &
      (200 | 201 | 202 | 204)]
  : never;

type ContentOf<Answer> = Answer extends { content: infer Content }
  ? [Exclude<keyof Content, "application/json" | `text/${string}`>] extends [never]
    ? Content extends { "application/json": infer Json }
      ? Json
      : string
    : Uint8Array<ArrayBuffer>
  : undefined;

/** The paths whose answer is a file. */
export type FilePath = {
  [Path in PathOf<"GET">]: AnswerOf<OperationOf<"GET", Path>> extends Uint8Array ? Path : never;
}[PathOf<"GET">];
