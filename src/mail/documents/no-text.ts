import type { NoTextReason } from "../../domain/document.ts";

/** Thrown by readers of documents: the document has no text for this reason. */
export class NoText extends Error {
  readonly reason: NoTextReason;

  constructor(reason: NoTextReason) {
    super(`Cannot read document: ${reason}`);
    this.name = "NoText";
    this.reason = reason;
  }
}
