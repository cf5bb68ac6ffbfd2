import { InboxdError } from "../api.ts";
import { formatNumber } from "../format.ts";
import { addressesIn } from "./send-mail.ts";

/** The fields of the form. The service may refuse any of them. */
export interface Written {
  to: string;
  cc?: string;
  bcc?: string;
  subject?: string;
  body: string;
  files?: readonly File[];
  sendAt?: string;
}

export type Field = keyof Written;
export type Faults = Partial<Record<Field, string>>;

/** The most characters (code points) of a body. */
export const maxBodyLength = 100_000;

/** The faults of a refused mail, in words of the form, by their fields. Undefined if one is about no field of the form. */
export function faultsIn(error: unknown, written: Written): Faults | undefined {
  if (!(error instanceof InboxdError) || error.errors.length === 0) return undefined;
  const faults: Faults = {};
  for (const { pointer = "", detail } of error.errors) {
    const [name = "", index = "0"] = pointer.replace(/^#?\//, "").split("/");
    const field = fieldOf(name);
    if (field === undefined) return undefined;
    const text = inWords(field, Number(index), detail, written);
    faults[field] = faults[field] === undefined ? text : `${faults[field]}. ${text}`;
  }
  return faults;
}

function fieldOf(name: string): Field | undefined {
  return name === "attachments"
    ? "files"
    : (["to", "cc", "bcc", "subject", "body", "sendAt"] as const).find((one) => one === name);
}

function inWords(field: Field, index: number, detail: string, written: Written): string {
  if (field === "subject") return written.subject?.trim() ? `The subject ${detail}` : "Enter a subject";
  if (field === "sendAt") return "Choose a time within a year";
  if (field === "files") return `${written.files?.[index]?.name ?? "The files"} ${detail}`;
  if (field === "body") {
    return written.body.trim() === ""
      ? "Write a text"
      : `The text is longer than ${formatNumber(maxBodyLength)} characters`;
  }
  const address = addressesIn(written[field] ?? "")[index];
  if (address === undefined) return "Enter an address";
  return detail.startsWith("must be one email address")
    ? `“${address}” is not an email address`
    : `“${address}” ${detail}`;
}
