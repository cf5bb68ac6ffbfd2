import { Refusal } from "../domain/errors.ts";
import { type AdminDeps, type AdminRequest, administer, anotherVersion } from "./administer.ts";
import { answerExport, type ExportDeps } from "./answer-export.ts";
import { type ControlListener, controlPaths, listenAt } from "./socket.ts";

export interface ControlDeps extends AdminDeps, ExportDeps {}

/** Answers the commands of whoever owns the data directory, which this process holds. */
export function serveControl(deps: ControlDeps): ControlListener {
  return listenAt(deps.dataDir, (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === controlPaths.export) return answerExport(deps, request);
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

function refused({ message }: { message: string }): Response {
  return Response.json({ refused: message });
}
