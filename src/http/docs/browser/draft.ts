/** The request of a form, without the key. */
export interface Draft {
  operationId: string;
  method: string;
  /** The address of the API, without a slash at its end. */
  base: string;
  /** The path with the names of its parameters in braces. */
  path: string;
  pathValues: Readonly<Record<string, string>>;
  /** Each with the type of its schema, such as `integer`. */
  query: readonly { name: string; value: string; kind: string }[];
  /** The whole address. */
  url: string;
  needsKey: boolean;
  /** Whether the answer is a stream: the sample prints it as it comes. */
  isEndless?: boolean;
  /** Without `Authorization`. */
  headers: readonly (readonly [name: string, value: string])[];
  /** The typed text: JSON if the `Content-Type` in `headers` says so. */
  body: string | undefined;
}

export function isJson(type: string): boolean {
  return type === "application/json";
}
