import type { RelayedRecipient, ReportWish } from "./relayed-mail.ts";

/** What the library writes behind each `RCPT TO:<…>`, in their order. */
interface Inside {
  _getDsnRcptToArgs(): string;
}

/**
 * Which reports the recipients of the transaction to come are good for (RFC 3461 §4). The library has one ORCPT for all of
 * them, so theirs is written here. `wish` is of a server that offers DSN.
 */
export function askForReports(
  connection: object,
  wish: ReportWish | undefined,
  recipients: readonly RelayedRecipient[],
): void {
  const inside = connection as Inside;
  const next = recipients.values();
  inside._getDsnRcptToArgs = () => {
    const { orcpt } = next.next().value ?? {};
    if (wish === undefined) return "";
    return ` NOTIFY=${wish.notify.join(",")}${orcpt === undefined ? "" : ` ORCPT=${originalRecipient(orcpt)}`}`;
  };
}

/** Of an address beyond ASCII the form that any server can hand on (RFC 6533 §3). */
function originalRecipient(address: string): string {
  if (!/[^\0-\x7f]/.test(address)) return `rfc822;${encoded(address, /[+=]|[^!-~]/g, (code) => `+${twoHex(code)}`)}`;
  return `utf-8;${encoded(address, /[+=\\]|[^!-~]/gu, (code) => `\\x{${twoHex(code)}}`)}`;
}

function encoded(text: string, pattern: RegExp, written: (code: number) => string): string {
  return text.replace(pattern, (character) => written(character.codePointAt(0) ?? 0));
}

function twoHex(code: number): string {
  return code.toString(16).toUpperCase().padStart(2, "0");
}
