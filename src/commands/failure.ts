import { InboxdError, type InboxdFault } from "../../sdk/typescript/src/errors.ts";

/** Thrown for wrong arguments or settings. The exit code is 2, as for an unknown option. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** Whether the service refused the request because of a wrong value in it. */
export function isWrongRequest({ code }: InboxdError): boolean {
  return code === "validation_error" || code.startsWith("invalid_");
}

/** The message of an error for the terminal. That of an error of the operating system has its path and its code. */
export function messageOf(error: unknown): string {
  if (error instanceof InboxdError) return messageOfCall(error);
  if (!isSystemTrouble(error)) return error instanceof Error ? error.message : String(error);
  const { path } = error as NodeJS.ErrnoException;
  return `Cannot go on: ${path === undefined ? "" : `${path}: `}${reasonOf(error)} (${error.code})`;
}

function messageOfCall({ status, code, baseUrl, message, errors, cause }: InboxdError): string {
  if (status === 0) return `Cannot reach ${baseUrl}: ${reasonOf(cause)}`;
  if (code === "unreadable_answer")
    return `Cannot ask ${baseUrl}: the server there is not inboxd (it answered ${status})`;
  return `${code}: ${message}${furtherFaults(errors)}`;
}

/** All faults but the first, which the message of the service already contains. */
function furtherFaults(errors: readonly InboxdFault[]): string {
  return errors.length < 2
    ? ""
    : `:${errors
        .slice(1)
        .map((fault) => `\n  ${shownFault(fault)}`)
        .join("")}`;
}

function shownFault({ pointer, parameter, detail }: InboxdFault): string {
  const name = parameter ?? pointer?.replace(/^#\/?/, "") ?? "";
  return `${name === "" ? "the body" : JSON.stringify(name)} ${detail}`;
}

/** The reason of a system error in plain words. Keeps the message of any other error. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return "no answer in time";
  return (isCoded(error) && plainWords[error.code]) || error.message;
}

/** Whether the error comes from the operating system or from Bun, so that its message needs plain words. */
export function isSystemTrouble(error: unknown): error is Error & { code: string } {
  return error instanceof Error && isCoded(error) && error.code in plainWords;
}

function isCoded(error: Error): error is Error & { code: string } {
  return "code" in error && typeof error.code === "string";
}

const nobodyListens = "nothing listens there";
const noHttp = "the server there does not speak HTTP; check the port, which may be that of SMTP";

/** Plain words for the error codes of the system and of Bun's `fetch`. */
const plainWords: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or directory",
  EACCES: "this user has no permission for it",
  EPERM: "this user has no permission for it",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of its path is a file, not a directory",
  EEXIST: "it already exists",
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only",
  ECONNREFUSED: nobodyListens,
  ConnectionRefused: nobodyListens,
  ECONNRESET: "the connection was cut",
  ConnectionClosed: "the connection was cut",
  ENOTFOUND: "there is no host with this name",
  EAI_AGAIN: "no name server answers",
  EHOSTUNREACH: "there is no route to that host",
  ENETUNREACH: "there is no route to that network",
  ETIMEDOUT: "no answer in time",
  InvalidHTTPResponse: noHttp,
  Malformed_HTTP_Response: noHttp,
};
