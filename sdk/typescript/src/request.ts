import type { Call, Caller, CallOptions } from "./call.ts";
import { newIdempotencyKey } from "./machine.ts";
import type { FetchPage, List } from "./pages.ts";
import type { AnswerOf, InputOf, Method, OperationOf, PathOf } from "./types.ts";

/** Calls any operation of the OpenAPI document by its HTTP method and path, also one for which this client has no function. */
export type Requester = <M extends Method, Path extends PathOf<M>>(
  method: M,
  path: Path,
  input: InputOf<OperationOf<M, Path>> & CallOptions,
) => Promise<Answer<M, Path>>;

type Answer<M extends Method, Path extends PathOf<M>> = AnswerOf<OperationOf<M, Path>>;

export function requester({ call }: Caller): Requester {
  return (method, path, input) => {
    const { path: parameters, ...rest }: CallOptions & { path?: object } = input;
    return call({ method, path, parameters, ...rest }) as never;
  };
}

/** Makes the functions of operations from their paths. */
export interface Functions {
  /** The function of an operation. `part` says what it takes between the parameters of its path and the options. */
  at<M extends Method, Path extends PathOf<M>, Part extends "query" | "body" | undefined = undefined>(
    method: M,
    path: Path,
    part?: Part,
  ): (...values: Arguments<M, Path, Part>) => Promise<Answer<M, Path>>;
  /** The function of a POST that sends an idempotency key, the same with all attempts. */
  once<Path extends PathOf<"POST">>(
    path: Path,
  ): (...values: Arguments<"POST", Path, "body">) => Promise<Answer<"POST", Path>>;
  /** The function of a list. `pagesBy` says how it is paged. */
  list<Path extends PathOf<"GET">>(
    path: Path,
    pagesBy: (fetchPage: FetchPage<Answer<"GET", Path>>, query: object) => ListOfPages<Answer<"GET", Path>>,
  ): (...values: Arguments<"GET", Path, "query">) => ListOfPages<Answer<"GET", Path>>;
}

type Arguments<M extends Method, Path extends PathOf<M>, Part> = [
  ...ParametersIn<Path>,
  ...PartOf<InputOf<OperationOf<M, Path>>, Part>,
  options?: CallOptions,
];

type ParametersIn<Path> = Path extends `${string}{${string}}${infer Rest}` ? [string, ...ParametersIn<Rest>] : [];

type PartOf<Operation, Part> = Part extends keyof Operation ? [Operation[Part]?] : [];

type ListOfPages<Page> = Page extends { data: (infer Item)[] } ? List<Item, Page> : never;

export function functions(caller: Caller): Functions {
  const call = caller.call as (call: Call) => Promise<never>;
  return {
    at:
      (method, path, part) =>
      (...values) =>
        call(callOf(method, path, values, part)),
    once:
      (path) =>
      (...values) => {
        const once = callOf("POST", path, values, "body");
        return call({ ...once, idempotencyKey: once.idempotencyKey ?? newIdempotencyKey() });
      },
    list:
      (path, pagesBy) =>
      (...values) => {
        const first = callOf("GET", path, values, "query");
        const { query = {} } = first;
        return pagesBy((position) => call({ ...first, query: { ...query, ...position } }), query);
      },
  };
}

function callOf(method: Method, path: string, values: readonly unknown[], part: "query" | "body" | undefined): Call {
  const left = [...values];
  return {
    method,
    path,
    parameters: Object.fromEntries(Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => [name, left.shift()])),
    ...(part && { [part]: left.shift() ?? {} }),
    ...(left[0] as CallOptions),
  };
}
