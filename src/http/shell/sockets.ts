import { Type } from "@sinclair/typebox";
import type { Logger } from "pino";
import { refuseWithout } from "../../domain/access/access.ts";
import type { Actor } from "../../domain/access/actor.ts";
import { type Closure, refuseSuspended } from "../../domain/access/suspension.ts";
import { queryJudge } from "../judging/faults.ts";
import { actorOf } from "./actor.ts";
import { type Account, type AuthenticateStream, authenticatedStream, socketPath } from "./auth.ts";
import { clientAddress } from "./client-address.ts";
import { problemOf, refusalOf, unavailable } from "./errors.ts";
import { requestId, requestIdHeader } from "./request-headers.ts";

/** The part of Bun's WebSocket that a session needs. */
export interface Socket {
  /** Bytes that wait in this process, without those in the kernel's buffer. */
  unsentBytes(): number;
  /** Bytes of messages that the kernel has taken. It takes more only as the client reads. */
  takenBytes(): number;
  send(text: string): void;
  ping(): void;
  /** Sends a close frame, and terminates the connection if the client does not answer it. */
  close(code: number, reason: string): void;
  cutOff(): void;
}

/** The session of one client at a WebSocket. */
export interface SocketSession {
  opened(socket: Socket): void;
  received(message: string | Uint8Array): void;
  drained(): void;
  ponged(): void;
  closed(): void;
}

/** Handles WebSocket upgrades in front of the app, because an upgraded request has no answer. */
export interface SocketDoor {
  isAskedFor(request: Request): boolean;
  /** Returns a session, or the answer that refuses one. */
  admit(request: Request): Promise<SocketSession | Response>;
}

export interface SocketDoorDeps extends AuthenticateStream {
  isDraining(): boolean;
  noteActed?: (actor: Actor, accountId: string, route: string) => Promise<void>;
  closureOf?: (accountId: string) => Closure | undefined;
  newRequestId(): string;
  log: Logger;
  newSession(account: Account, ip: string | null): SocketSession;
}

/** Checks an upgrade as the app (app.ts) checks a request, in the same order. */
export function socketDoor(deps: SocketDoorDeps): SocketDoor {
  return {
    isAskedFor: (request) =>
      request.headers.get("upgrade")?.toLowerCase() === "websocket" &&
      request.method === "GET" &&
      new URL(request.url).pathname === socketPath,
    async admit(request) {
      const id = requestId(request.headers.get(requestIdHeader), deps.newRequestId);
      const asked = { method: request.method, path: socketPath, request_id: id };
      try {
        if (deps.isDraining()) throw unavailable("the service is shutting down", { connection: "close" });
        const account = await authenticatedStream(request, deps);
        refuseWithout("read", account, doing);
        if (account.kind === "operator") {
          const set = { headers: { [requestIdHeader]: id } };
          await deps.noteActed?.(
            actorOf(account, { request, set }, deps.trustedProxies),
            account.id,
            `GET ${socketPath}`,
          );
        }
        refuseSuspended(deps.closureOf?.(account.id), { sends: false, showsAccount: false }, "open a socket");
        judgeQuery(new URL(request.url).search);
        deps.log.debug({ ...asked, status: 101 }, "request answered");
        return deps.newSession(account, clientAddress(request, deps.trustedProxies) ?? null);
      } catch (error) {
        const refusal = refusalOf({ error, ...asked }, deps.log);
        const { status, headers, body } = problemOf(refusal, socketPath, id, request.headers.get("accept"));
        deps.log.debug({ ...asked, status }, "request answered");
        return new Response(JSON.stringify(body), { status, headers: { ...headers, [requestIdHeader]: id } });
      }
    },
  };
}

const doing = "open a socket";

/** The only query parameter is `token`, because a client subscribes by messages. */
const judgeQuery = queryJudge(Type.Object({ token: Type.Optional(Type.String()) }), doing);

export async function upgraded(
  request: Request,
  server: Bun.Server<SocketSession>,
  admitted: Promise<SocketSession | Response>,
): Promise<Response | undefined> {
  const session = await admitted;
  if (session instanceof Response) return session;
  if (server.upgrade(request, { data: session })) return undefined;
  return new Response(null, { status: 400 });
}

export const socketHandlers: Bun.WebSocketHandler<SocketSession> = {
  open: (socket) => socket.data.opened(asSocket(socket)),
  message: (socket, message) => socket.data.received(message),
  drain: (socket) => socket.data.drained(),
  pong: (socket) => socket.data.ponged(),
  close: (socket) => socket.data.closed(),
  // A session checks a lower limit itself. Bun does not read a message above this one.
  maxPayloadLength: 64 << 10,
  // Bun silently drops frames above this limit. A session stays below it, because it writes no event while unsent bytes
  // wait.
  backpressureLimit: 256 << 20,
  // A session sends its own pings and checks the answers.
  idleTimeout: 0,
  sendPings: false,
  perMessageDeflate: false,
};

const closeTimeoutMs = 5_000;

function asSocket(socket: Bun.ServerWebSocket<SocketSession>): Socket {
  let sentBytes = 0;
  return {
    unsentBytes: () => socket.getBufferedAmount(),
    takenBytes: () => sentBytes - socket.getBufferedAmount(),
    send(text) {
      sentBytes += Buffer.byteLength(text);
      socket.send(text);
    },
    ping: () => void socket.ping(),
    close(code, reason) {
      socket.close(code, reason);
      setTimeout(() => socket.terminate(), closeTimeoutMs).unref();
    },
    cutOff: () => socket.terminate(),
  };
}
