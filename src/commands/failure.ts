/** Words or settings that can't be meant: exit code 2, as for an option that there is not. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/**
 * Why it failed, for somebody who doesn't read system codes. The system's own words are kept where there are none better:
 * somebody can look them up.
 */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (isCoded(error) && plainWords[error.code]) || error.message;
}

/** Whether the system says so, and not we. */
export function isSystemTrouble(error: unknown): error is Error & { code: string } {
  return error instanceof Error && isCoded(error) && error.code in plainWords;
}

function isCoded(error: Error): error is Error & { code: string } {
  return "code" in error && typeof error.code === "string";
}

const nobodyListens = "nothing listens there";
const noHttp = "what listens there doesn't speak HTTP: is it the port of something else, as of SMTP?";

/** The runtime's `fetch` has codes of its own beside the system's. */
const plainWords: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file or directory",
  EACCES: "this user may not do that",
  EPERM: "this user may not do that",
  EISDIR: "it is a directory",
  ENOTDIR: "a part of its path is a file, not a directory",
  EEXIST: "it is there already",
  ENOSPC: "the disk is full",
  EROFS: "the file system is read-only",
  ECONNREFUSED: nobodyListens,
  ConnectionRefused: nobodyListens,
  ECONNRESET: "the connection was cut",
  ConnectionClosed: "the connection was cut",
  ENOTFOUND: "there is no host of this name",
  EAI_AGAIN: "no name server answers",
  EHOSTUNREACH: "no way leads to that host",
  ENETUNREACH: "no way leads to that network",
  ETIMEDOUT: "no answer in time",
  HPE_INVALID_CONSTANT: noHttp,
  HPE_INVALID_HEADER_TOKEN: noHttp,
  InvalidHTTPResponse: noHttp,
};
