import { join } from "node:path";
import type { Deps } from "../flows/deps.ts";
import { exportEverything } from "../flows/move/export-everything.ts";
import { spooled } from "../store/mail/spool.ts";

export interface ExportDeps extends Pick<Deps, "db" | "now" | "randomBytes" | "log"> {
  dataDir: string;
  version: string;
}

/**
 * The whole database, read for `inboxd export` of another process. The embedded one has one session and everybody waits
 * while it is read, so it is read as fast as the disk writes, never as fast as somebody reads.
 */
export async function answerExport(
  { db, dataDir, version, now, randomBytes, log }: ExportDeps,
  { signal }: Request,
): Promise<Response> {
  const encoder = new TextEncoder();
  const header = { id: randomBytes(16).toHex(), version, now: now() };
  try {
    const whole = await spooled(join(dataDir, `.export-${randomBytes(16).toHex()}`), (write) =>
      exportEverything(db, header, (text) => {
        signal.throwIfAborted();
        return write(encoder.encode(text));
      }),
    );
    return new Response(whole);
  } catch (error) {
    log.warn({ err: error }, "export failed");
    return new Response(error instanceof Error ? error.message : String(error), { status: 503 });
  }
}
