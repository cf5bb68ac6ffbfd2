import { X509Certificate } from "node:crypto";
import type { AddressInfo, Socket } from "node:net";
import { createSecureContext } from "node:tls";
import type { SMTPConnectionOptions } from "smtp-server/lib/smtp-connection.js";
import { type Admission, admission } from "./admission.ts";
import type { Origin, RefusedReason, SmtpDoor, SmtpObserver } from "./door.ts";
import { MailConnection, type Shared } from "./mail-connection.ts";
import { type MemoryBudget, memoryBudget } from "./memory-budget.ts";
import { takeProxyHeader } from "./proxy-header.ts";
import { type Reply, reply, replyLines } from "./replies.ts";
import type { Certificate } from "./self-signed.ts";
import { defaultLimits, type SmtpLimits } from "./smtp-limits.ts";
import { LibraryServer } from "./smtp-server-inside.ts";

export interface SmtpOptions {
  host: string;
  /** 0 for any free port. */
  port: number;
  /** Whether other processes listen at the same port, among which Linux distributes the connections (SO_REUSEPORT). */
  isShared?: boolean;
  /** The name in the greeting and in the reply to EHLO. */
  hostname: string;
  maxBytes: number;
  /** For STARTTLS. */
  certificate: Certificate;
  /** Parses an address. Passed in, because smtp imports nothing of the service. */
  originOf(address: string): Origin;
  /** Whether an address is that of a relay of the operator's, which passes on the mail of many senders. */
  isRelay?(address: string): boolean;
  /** Counts a mail of a network. Returns false if the network has sent the most that it may for now. */
  takesMailOf?(network: string): boolean;
  limits?: Partial<SmtpLimits>;
  /** Whether the proxies in `uncountedAddresses` must begin each connection with a PROXY header. */
  proxyProtocol?: boolean;
  /** The memory for mails, if the listener shares it with another reader of mails. */
  memory?: MemoryBudget;
  observe?: SmtpObserver;
}

export interface SmtpListener {
  readonly address: string;
  readonly port: number;
  /** Open connections. */
  readonly sessions: number;
  /** Bytes of mails in memory. */
  readonly heldBytes: number;
  /** When the certificate in force expires. */
  readonly certificateExpiresAt: Date;
  /** Uses the new certificate for all later handshakes. Throws if it is invalid. */
  reloadCertificate(certificate: Certificate): void;
  /** Closes the listening socket. Open sessions continue. */
  stopAccepting(): void;
  /**
   * Accepts no more connections, and ends each session with 421 4.3.2: at once, or after its reply if it waits for the service (`SmtpDoor`)
   * or receives a mail (DATA). Closes the sessions that are still open after `graceMs`.
   */
  stop(graceMs: number): Promise<void>;
}

/** Listens for mail (RFC 5321). Resolves when it accepts connections. */
export async function startSmtp(door: SmtpDoor, options: SmtpOptions): Promise<SmtpListener> {
  const { maxBytes, originOf, isRelay = () => false, takesMailOf = () => true, observe = {} } = options;
  const limits = { ...defaultLimits(maxBytes), ...options.limits };
  const uncounted = new Set(limits.uncountedAddresses.map((address) => originOf(address).host));
  const admitted = admission(limits.maxConnections, limits.maxConnectionsPerAddress, uncounted);
  const memory = options.memory ?? mailMemory(limits, maxBytes);
  const live = new Set<MailConnection>();
  /** Connections of proxies whose header has not come yet. */
  const unnamed = new Set<Socket>();
  let onEnded: () => void = () => undefined;
  let stopped: Promise<void> | undefined;
  let certificateExpiresAt = expiryOf(options.certificate);

  const shared: Shared = {
    door,
    limits,
    maxBytes,
    memory,
    observe,
    originOf,
    isProxy: ({ host }) => uncounted.has(host),
    takesMail: ({ host, network }) => uncounted.has(host) || isRelay(host) || takesMailOf(network),
    draining: false,
    ended: () => onEnded(),
    left(session) {
      if (live.delete(session)) admitted.leave(session.origin);
      onEnded();
    },
  };

  const server = new LibraryServer(libraryOptions(options, limits), (socket, socketOptions) => {
    const proxy = options.proxyProtocol ? proxyOf(socket) : undefined;
    if (proxy === undefined) openSession(socket, socketOptions);
    else void openBehindProxy(socket, socketOptions, proxy);
  });

  function proxyOf({ remoteAddress }: Socket): Origin | undefined {
    const origin = remoteAddress === undefined ? undefined : originOf(remoteAddress);
    return origin && shared.isProxy(origin) ? origin : undefined;
  }

  /** Reads the PROXY header, which comes before the greeting and before TLS. Until then the connection counts as the proxy's. */
  async function openBehindProxy(socket: Socket, socketOptions: SMTPConnectionOptions, proxy: Origin): Promise<void> {
    if (!admits(admitted, proxy, socket, observe)) return;
    unnamed.add(socket);
    const header = await takeProxyHeader(socket, limits.firstCommandMs);
    unnamed.delete(socket);
    admitted.leave(proxy);
    if (header === "left") return void socket.destroy();
    if (header === "wrong") {
      observe.refused?.("proxy_header");
      return endUnopened(socket, wrongProxyHeader);
    }
    const client = header.kind === "client" ? { remoteAddress: header.address } : {};
    openSession(socket, { ...socketOptions, ...client });
  }

  function openSession(socket: Socket, socketOptions: SMTPConnectionOptions): void {
    // The client left before the greeting, or the listener is stopping.
    if (socket.remoteAddress === undefined || shared.draining) return void socket.destroy();
    const session = new MailConnection(server, socket, socketOptions, shared);
    if (!admits(admitted, session.origin, socket, observe)) return;
    observe.connected?.();
    live.add(session);
    server.addSession(session);
    session.on("error", (error) => observe.fault?.(error, "connection"));
    session.init();
  }

  server.on("error", (error) => observe.fault?.(error, "connection"));

  const listening = await listen(server, options);
  const sweep = setInterval(() => {
    for (const session of live) session.check(performance.now());
    memory.relieve();
  }, limits.sweepMs);
  sweep.unref();

  function stopAccepting(): void {
    server.listening.close();
  }

  async function end(graceMs: number): Promise<void> {
    stopAccepting();
    shared.draining = true;
    for (const socket of unnamed) socket.destroy();
    const nowMs = performance.now();
    for (const session of live) session.check(nowMs);
    await quiet(() => server.openSessions === 0, graceMs);
    for (const session of live) session.endNow();
    // Gives the clients time to read the last replies. If a socket is destroyed with unread input, the connection is reset, and the replies
    // may be lost.
    await quiet(() => live.size === 0, lingerMs);
    for (const session of live) session.destroy();
    clearInterval(sweep);
  }

  /** Resolves when `isQuiet()` is true, or after `waitMs`. Checks it at once, and whenever a session ends. */
  async function quiet(isQuiet: () => boolean, waitMs: number): Promise<void> {
    if (isQuiet()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, waitMs);
    onEnded = () => {
      if (isQuiet()) resolve();
    };
    await promise;
    clearTimeout(timer);
    onEnded = () => undefined;
  }

  return {
    address: listening.address,
    port: listening.port,
    get sessions() {
      return admitted.total;
    },
    get heldBytes() {
      return memory.usedBytes;
    },
    get certificateExpiresAt() {
      return certificateExpiresAt;
    },
    reloadCertificate({ cert, key }) {
      // Checks the certificate first: the library drops the old one before it finds a fault in the new one.
      createSecureContext({ cert, key });
      server.updateSecureContext({ cert, key });
      certificateExpiresAt = expiryOf({ cert });
    },
    stopAccepting,
    stop(graceMs) {
      stopped ??= end(graceMs);
      return stopped;
    },
  };
}

const lingerMs = 500;

function libraryOptions({ hostname, maxBytes, certificate }: SmtpOptions, limits: SmtpLimits) {
  return {
    name: hostname,
    heloResponse: "%s",
    cert: certificate.cert,
    key: certificate.key,
    minVersion: "TLSv1.2" as const,
    size: maxBytes,
    maxCommandLength: limits.maxCommandOctets,
    hideENHANCEDSTATUSCODES: false,
    disableReverseLookup: true,
    // A client may close its side after the last command and still read the reply.
    allowHalfOpen: true,
    logger: false,
    authOptional: true,
    disabledCommands: ["AUTH", "XCLIENT", "XFORWARD", "WIZ", "SHELL", "KILL"],
    onConnect: (_session: unknown, callback: () => void) => callback(),
    onSecure: (_socket: unknown, _session: unknown, callback: () => void) => callback(),
  };
}

function expiryOf({ cert }: Pick<Certificate, "cert">): Date {
  return new Date(new X509Certificate(cert).validTo);
}

/** Makes the memory for the mails of one listener. */
export function mailMemory(limits: SmtpLimits, largestBytes: number): MemoryBudget {
  return memoryBudget({
    largestBytes,
    limitBytes: limits.memoryBytes,
    freeBytes: limits.memoryFreeBytes,
    turnMs: limits.memoryTurnMs,
    bytesPerSecond: limits.memoryBytesPerSecond,
  });
}

/** Counts a connection, or refuses it with 421. */
function admits(admitted: Admission, origin: Origin, socket: Socket, observe: SmtpObserver): boolean {
  const entry = admitted.enter(origin);
  if (entry === "entered") return true;
  const reason: RefusedReason = entry === "full" ? "connections_in_all" : "connections_per_address";
  observe.refused?.(reason);
  const refusal =
    entry === "full"
      ? reply(421, "4.3.2", "Too many connections, try again later")
      : reply(421, "4.7.0", "Too many connections from your address, try again later");
  endUnopened(socket, refusal);
  return false;
}

const wrongProxyHeader = reply(421, "4.3.5", "The PROXY header of the proxy is missing or wrong");

/** Ends a connection without a session. */
function endUnopened(socket: Socket, last: Reply): void {
  socket.on("error", () => undefined);
  socket.end(replyLines(last), () => socket.destroy());
}

function listen(server: LibraryServer, { host, port, isShared = false }: SmtpOptions): Promise<AddressInfo> {
  const { promise, resolve, reject } = Promise.withResolvers<AddressInfo>();
  server.listening.once("error", reject);
  server.listen({ host, port, reusePort: isShared, backlog: 511 }, () => {
    server.listening.off("error", reject);
    const address = server.listening.address();
    if (address === null || typeof address === "string") reject(new Error("Cannot listen for mail: no TCP address"));
    else resolve(address);
  });
  return promise;
}
