import type { DocumentFile, ReadDocument } from "../../domain/document.ts";
import { type DocumentJob, type DocumentResult, parserCommand } from "../read/parse.ts";
import { processPool } from "../read/process-pool.ts";

export interface DocumentReader {
  /**
   * Reads the text of a document in a process. `load` is called when the process is free. The result is `undefined` if it was not free in
   * time, which says nothing about the document. `owner` is the account that waits, for a fair order.
   */
  read(load: () => Promise<DocumentFile>, owner: string): Promise<ReadDocument | undefined>;
  close(): void;
}

export interface DocumentReaderOptions {
  timeoutMs?: number;
  queueMs?: number;
  mostBytes?: number;
  onFault?: (fault: string) => void;
}

/**
 * The reader of documents. It has one process of its own, so that documents never take those of mail. The process is killed after 2 s of
 * processor time or with 1 GiB of memory; the document is then too large.
 */
export function documentReader(options: DocumentReaderOptions = {}): DocumentReader {
  const pool = processPool<DocumentJob, DocumentResult>({
    command: parserCommand(),
    size: 1,
    timeoutMs: options.timeoutMs ?? 2000,
    queueMs: options.queueMs ?? 10_000,
    mostBytes: options.mostBytes ?? 1 << 30,
    idleMs: 60_000,
    onFault: options.onFault,
  });
  return {
    async read(load, owner) {
      const outcome = await pool.run(async () => ({ document: await load() }), { sender: owner });
      if (outcome.kind === "unserved") return undefined;
      if (outcome.kind === "ended") return { reason: "too_large" };
      // A reader that throws has met something that it does not expect in such a document.
      return outcome.result.text ?? { reason: "damaged" };
    },
    close: pool.close,
  };
}
