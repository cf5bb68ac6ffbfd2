import { join } from "node:path";
import { Refusal } from "../domain/errors.ts";
import { exportNamed } from "../flows/move/export-account.ts";
import { spooled } from "../store/mail/spool.ts";
import { type AdminDeps, type AdminRequest, administer, anotherVersion } from "./administer.ts";
import { type ControlListener, controlPaths, listenAt } from "./socket.ts";

export interface ControlDeps extends AdminDeps {
  dataDir: string;
  version: string;
}

/**
 * Listens at the operator's socket in the data directory, which this process has locked. Runs the operations that commands of other
 * processes send.
 */
export function serveControl(deps: ControlDeps): ControlListener {
  return listenAt(deps.dataDir, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === controlPaths.export) {
      return answerExport(deps, searchParams.get("account") ?? undefined, request.signal);
    }
    if (pathname === controlPaths.alive) return new Response();
    if (pathname === controlPaths.administer) return answerAdmin(deps, request);
    return refused(anotherVersion());
  });
}

async function answerAdmin(deps: AdminDeps, request: Request): Promise<Response> {
  let asked: AdminRequest | undefined;
  try {
    asked = (await request.json()) as AdminRequest;
    return Response.json({ result: await administer(deps, asked) });
  } catch (error) {
    if (error instanceof Refusal) return refused(error);
    deps.log.error({ err: error, operation: asked?.operation }, "admin request failed");
    return refused({ message: "Cannot do this: something went wrong, see the server's log" });
  }
}

/**
 * Answers `inboxd export` of another process with the whole database, or with one account. Reading it blocks the only session of the
 * embedded database, so the export is first written to a file: a slow reader must not block the service.
 */
async function answerExport(
  deps: ControlDeps,
  accountName: string | undefined,
  signal: AbortSignal,
): Promise<Response> {
  const { dataDir, version, now, randomBytes, log } = deps;
  const encoder = new TextEncoder();
  const options = { id: randomBytes(16).toHex(), version, now: now(), accountName };
  try {
    const whole = await spooled(join(dataDir, `.export-${randomBytes(16).toHex()}`), (write) =>
      exportNamed(deps, options, (text) => {
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

function refused({ message }: { message: string }): Response {
  return Response.json({ refused: message });
}
