import type { AutomatedKind } from "../../../src/domain/automated.ts";

/** A mail and its kind, written from knowledge of the formats and not from the rules under test. */
export interface Row {
  what: string;
  kind: AutomatedKind | null;
  why: string;
  /** The reverse path of its SMTP transaction. */
  from: string;
  head: readonly string[];
  /** The kind that the rules give it, where a wrong one is accepted. */
  miss?: { kind: AutomatedKind | null; why: string };
}

/** Rows of one kind. The headers are From, Subject and the signs. */
export function rowsOf(
  kind: Row["kind"],
  rows: readonly [what: string, why: string, from: string, head: readonly string[], miss?: Row["miss"]][],
): Row[] {
  return rows.map(([what, why, from, head, miss]) => ({ what, kind, why, from, head, ...(miss && { miss }) }));
}

/** The mail as a server hands it over, with the usual other headers. */
export function rawOf({ head }: Pick<Row, "head">): string {
  const type = head.some((line) => /^content-type:/i.test(line)) ? [] : ["Content-Type: text/plain; charset=utf-8"];
  const lines = [
    "Received: from mx.example.net (mx.example.net [192.0.2.7])",
    "\tby inbox.localhost with ESMTPS; Sat, 21 Mar 2026 10:05:00 +0000",
    "To: ada@inbox.localhost",
    "Date: Sat, 21 Mar 2026 10:05:00 +0000",
    "MIME-Version: 1.0",
    ...type,
    ...head,
  ];
  const boundary = /boundary="?([^";]+)/i.exec(head.join("\n"))?.[1];
  const body =
    boundary === undefined
      ? "Hello\r\n"
      : `--${boundary}\r\nContent-Type: text/plain\r\n\r\nHello\r\n--${boundary}\r\nContent-Type: message/delivery-status\r\n\r\nAction: failed\r\n--${boundary}--\r\n`;
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}
