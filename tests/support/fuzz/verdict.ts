import { mismatches } from "../schema-check.ts";
import type { ShownContent, ShownDocument } from "./document.ts";
import type { FuzzRequest } from "./requests.ts";

export interface FuzzAnswer {
  status: number;
  headers: Headers;
  body: string;
}

/** The faults of an answer, compared with the document. */
export function faultsOfAnswer(request: FuzzRequest, answer: FuzzAnswer, document: ShownDocument): string[] {
  const { operation, intent } = request;
  const { status, headers } = answer;
  const faults: string[] = [];
  // This operation may answer that the service is not ready, as on a busy machine.
  const saysNotReady = operation.operationId === "checkReadiness" && status === 503;
  if (status >= 500 && !saysNotReady) faults.push(`answered ${status}`);
  if (!headers.get("x-request-id")) faults.push("has no X-Request-Id");
  if (status === 429 && !/^[1-9]\d*$/.test(headers.get("retry-after") ?? "")) faults.push("429 without Retry-After");

  const code = status < 400 ? undefined : codeOf(answer);
  if (isElsewhere(request, document)) return faults.concat(faultsOfNoOperation(request, answer, code));
  const response = operation.responses[String(status)];
  if (response === undefined) return [...faults, `${status} is not declared`];
  if (request.method !== "HEAD") faults.push(...faultsOfBody(response.content, answer));
  if (code !== undefined) faults.push(...faultsOfCode(code, response.content));
  if (intent === "bad" && status < 400) faults.push(`is wrong and was answered ${status}`);
  if (intent === "good" && malformed.has(code ?? "")) faults.push(`is as documented and was refused: ${answer.body}`);
  return faults;
}

/** Codes that call a request malformed. */
const malformed: ReadonlySet<string> = new Set([
  "invalid_json",
  "validation_error",
  "invalid_query",
  "unsupported_media_type",
  "payload_too_large",
  "unauthorized",
  "missing_idempotency_key",
  "invalid_idempotency_key",
]);

/** Whether method or path is not the operation's; HEAD counts as GET. */
function isElsewhere({ operation, method, path }: FuzzRequest, document: ShownDocument): boolean {
  const [place = ""] = path.split("?");
  const isOfPath = place.split("/").length === operation.path.split("/").length && !place.endsWith("/");
  if (!isOfPath || /;|%20$|\/\.\.?(?:\/|$)|%2e/i.test(place)) return true;
  if (method === operation.method) return false;
  return !(method === "HEAD" && operation.method === "GET" && document.methodsOf.get(operation.path)?.has("GET"));
}

/** The allowed answers to a request outside its operation. */
function faultsOfNoOperation({ method }: FuzzRequest, { status, headers, body }: FuzzAnswer, code: string | undefined) {
  if (method === "OPTIONS" && status === 204) return headers.has("allow") && body === "" ? [] : ["204 without Allow"];
  if (status === 405)
    return headers.has("allow") && (method === "HEAD" || code === "method_not_allowed")
      ? []
      : ["405 without Allow or code"];
  // It may be another operation, so the answer only must not be a failure.
  return status < 500 ? [] : [`${status} where there is no operation`];
}

function codeOf({ body }: FuzzAnswer): string | undefined {
  try {
    return String(JSON.parse(body).code);
  } catch {
    return undefined;
  }
}

function faultsOfBody(
  content: Record<string, ShownContent> | undefined,
  { status, headers, body }: FuzzAnswer,
): string[] {
  const [type = ""] = (headers.get("content-type") ?? "").split(";");
  if (content === undefined) return body === "" ? [] : [`${status} has a body, and none is declared`];
  const isBytes = "*/*" in content;
  const declared = content[type] ?? content["*/*"];
  if (declared === undefined) return [`${status} is ${type || "of no type"}, declared is ${Object.keys(content)}`];
  if (!/[/+]json$/.test(type) || isBytes) return [];
  try {
    return mismatches(declared.schema ?? {}, JSON.parse(body)).slice(0, 3);
  } catch {
    return [`${status} is no JSON`];
  }
}

function faultsOfCode(code: string, content: Record<string, ShownContent> | undefined): string[] {
  const codes = Object.keys(content?.["application/problem+json"]?.examples ?? {});
  return codes.includes(code) ? [] : [`${code} is not declared, but ${codes}`];
}
