import type { components, paths, webhooks } from "./openapi.ts";

/** The shapes of the API by their names in its document: `Schemas["Message"]`. */
export type Schemas = components["schemas"];

/** An event as the log and the stream show it. Ignore unknown types: new ones may be added. */
export type InboxdEvent = Schemas["Event"];

export type EventType = InboxdEvent["event"];

/** One type of event: `EventOf<"message.received">`. */
export type EventOf<Type extends EventType> = Extract<InboxdEvent, { event: Type }>;

export type Inbox = Schemas["Inbox"];
export type Message = Schemas["Message"];
/** A message in a list: without its text, unless the list was asked for it. */
export type ListedMessage = Schemas["ListedMessage"];
export type Thread = Schemas["Thread"];
export type Attachment = Schemas["Attachment"];
export type Upload = Schemas["Upload"];
export type Report = Schemas["Report"];
export type OutboxItem = Schemas["OutboxItem"];
export type Domain = Schemas["Domain"];
export type Rule = Schemas["Rule"];
export type Suppression = Schemas["Suppression"];
export type WebhookEndpoint = Schemas["WebhookEndpoint"];
/** The delivery of an event to an endpoint. */
export type Delivery = Schemas["Delivery"];

/** An event as a webhook receives it. */
export type DeliveredEvent = {
  [Kind in keyof webhooks]: webhooks[Kind] extends {
    post: { requestBody: { content: { "application/json": infer Body } } };
  }
    ? Body
    : never;
}[keyof webhooks];

export type Method = "GET" | "PUT" | "POST" | "PATCH" | "DELETE";

/** The paths that have the method, without the stream, whose response has no end: `events.stream` reads it. */
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

/** The parameters and the body of an operation, beside the options of every call. */
export type InputOf<Operation> = PathPart<Operation> & QueryPart<Operation> & BodyPart<Operation>;

type PathPart<Operation> = Operation extends { parameters: { path: infer Names } } ? { path: Names } : unknown;

type QueryPart<Operation> = [QueryOf<Operation>] extends [never] ? unknown : { query?: QueryOf<Operation> };

/** The parameters of a query. A list with commas may be an array of its words. */
export type QueryOf<Operation> = Operation extends { parameters: { query?: infer Query } }
  ? [NonNullable<Query>] extends [never]
    ? never
    : OrUndefined<{ [Name in keyof NonNullable<Query>]: AlsoList<Name, NonNullable<Query>[Name]> }>
  : never;

/** Also accepts undefined for an optional field, which then counts as left out. */
export type OrUndefined<Fields> = {
  [Name in keyof Fields]: Pick<Fields, Name> extends Required<Pick<Fields, Name>>
    ? Fields[Name]
    : Fields[Name] | undefined;
};

/** The words of the lists that have fixed ones, by the name of the parameter. The document gives them as text with commas. */
interface WordsOf {
  types: EventType | "*";
  has: "code" | "link" | "attachment";
}

/** A list of a query: one word, an array of words, or text with commas. */
export type ListOf<Name extends keyof WordsOf> = WordsOf[Name] | readonly WordsOf[Name][] | `${string},${string}`;

type AlsoList<Name, Value> = Value extends string
  ? string extends Value
    ? Name extends keyof WordsOf
      ? ListOf<Name>
      : Value | readonly string[]
    : Value
  : Value;

type BodyPart<Operation> = Operation extends { requestBody: { content: infer Content } }
  ? { body: BodyOf<Content> }
  : Operation extends { requestBody?: { content: infer Content } }
    ? { body?: BodyOf<Content> }
    : unknown;

type BodyOf<Content> =
  | (Content extends { "application/json": infer Json } ? OrUndefined<Json> : never)
  | ([Exclude<keyof Content, "application/json">] extends [never] ? never : RawBody);

/** A body that is sent as it is. */
export type RawBody = FormData | Blob | Uint8Array<ArrayBuffer>;

/** The content of an operation's response of 2xx. */
export type AnswerOf<Operation> = Operation extends { responses: infer Answers }
  ? { [Status in keyof Answers & (200 | 201 | 202 | 204)]: ContentOf<Answers[Status]> }[keyof Answers &
      (200 | 201 | 202 | 204)]
  : never;

type ContentOf<Answer> = Answer extends { content: infer Content }
  ? [Exclude<keyof Content, "application/json" | `text/${string}`>] extends [never]
    ? Content extends { "application/json": infer Json }
      ? Json
      : string
    : Content extends { "application/x-ndjson": unknown }
      ? ReadableStream<Uint8Array<ArrayBuffer>>
      : Uint8Array<ArrayBuffer>
  : undefined;
