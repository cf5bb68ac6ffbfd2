import { checkWebhookUrl, hostOf, portOf } from "../domain/events/webhook-url.ts";
import { isIpAddress, isPublicAddress } from "../standards/ip.ts";
import { type Attempt, connect, endInTime, newAttempt, unlessEnded } from "./attempt.ts";
import type { Connection, Exchange } from "./connection.ts";
import { idleConnections } from "./idle-connections.ts";
import { type Lookup, resolver, systemLookup } from "./resolve.ts";
import type { Start } from "./starts.ts";

/**
 * A guarded HTTP client. It connects to addresses that strangers choose, from inside the operator's network, so it has
 * only the features that it needs.
 *
 * It writes HTTP/1.1 on a socket that it opened itself to an address that it has checked. There is no look-up between
 * the check and the connection. It supports no redirects, proxies, cookies or content codings.
 *
 * Why not `fetch`: it looks the name up again after our check, obeys `HTTP_PROXY`, reads `file:` URLs, decompresses
 * bodies (a gzip bomb reached 886 MB), and has at most 256 requests in flight for the whole process, so that 300
 * receivers that hang block all others. Why not `node:http`: it can be pinned to an address, but all its other features
 * must be switched off, and it is slower.
 *
 * Measured on a busy machine with two cores, on which the receiver ran too (Bun 1.4.5, 100 requests at a time, unsigned):
 * this client 13,300 requests a second at 51 µs of CPU each; `node:http`, unguarded and kept alive, 7,600 to 11,500 at
 * 81 µs; this client with a new connection each time 2,700 to 5,400 at 190 to 230 µs, without TLS, which would add a
 * handshake on both sides.
 *
 * So connections are kept alive, for at most four seconds. They are kept by scheme, host, port and address: an attempt
 * whose look-up gives other addresses never uses an old connection, and the addresses are checked for each attempt.
 */
export interface WebhookClient {
  post(request: WebhookRequest): Promise<WebhookReply>;
  /** Closes idle connections. Requests in progress continue. */
  close(): void;
}

export interface WebhookRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** `undefined` for a GET. */
  body: string | Uint8Array | undefined;
  /** The number of bytes of the response body to keep; 4 KiB by default. */
  keptBytes?: number;
  signal?: AbortSignal | undefined;
  /** The position of this request in a queue (starts.ts): it is written after the requests before it. */
  start?: Start | undefined;
  /** Whether to open a new connection even if a kept one is free. */
  fresh?: boolean;
}

export type WebhookReply =
  | {
      kind: "answered";
      status: number;
      /** Clean text of at most `keptBytes`; empty if the response is compressed. */
      body: string;
      retryAfter: string | undefined;
      latencyMs: number;
    }
  /** Nothing was sent, because the URL or an address of its host is not allowed. */
  | { kind: "refused_address"; address: string; error: string; latencyMs: number }
  | {
      kind: "no_answer";
      error: string;
      latencyMs: number;
      /** Whether a connection was made. If so, the receiver is up, although it does not answer. */
      connected: boolean;
      /** Whether a kept connection broke before a byte of the response. Most likely the receiver had closed it. */
      stale?: true;
    };

export interface WebhookClientOptions {
  /** Allows plain http and all addresses, for development. */
  allowPrivate: boolean;
  /** The version in the user agent `inboxd/<version>`. */
  version: string;
  /** The time limit for look-up, connection, TLS, headers and body together. */
  timeoutMs?: number;
  lookup?: Lookup;
  /** Decides which addresses are allowed, instead of `allowPrivate`. */
  permits?: (address: string) => boolean;
  /** PEM certificates to trust instead of the system's. */
  ca?: string;
  maxIdleConnections?: number;
}

export function webhookClient(options: WebhookClientOptions): WebhookClient {
  const { allowPrivate, version, timeoutMs = 15_000, lookup = systemLookup, ca, maxIdleConnections = 500 } = options;
  const permits = options.permits ?? (allowPrivate ? isIpAddress : isPublicAddress);
  const idle = idleConnections(maxIdleConnections);
  const resolve = resolver(lookup);

  async function post({
    url: text,
    headers,
    body,
    signal,
    start,
    fresh = false,
    keptBytes,
  }: WebhookRequest): Promise<WebhookReply> {
    const attempt = newAttempt(timeoutMs, start);
    const url = checkWebhookUrl(text, { allowPrivate });
    if (typeof url === "string") return refused("", `the URL ${url}`, attempt.startedMs);
    const request = requestBytes(url, { ...headers, "user-agent": `inboxd/${version}` }, body);
    const release = endInTime(attempt, signal);
    try {
      return await send(attempt, url, { request, keptBytes }, fresh);
    } finally {
      release();
    }
  }

  async function send(attempt: Attempt, url: URL, asked: Asked, fresh: boolean): Promise<WebhookReply> {
    const host = hostOf(url);
    const addresses = await unlessEnded(attempt, resolve(host));
    if (typeof addresses === "string") return noAnswer(attempt, addresses);
    // The request is refused even if only one of the addresses is forbidden: the result must not depend on their order.
    const forbidden = addresses.find((address) => !permits(address));
    if (forbidden !== undefined) {
      // The error leaves out the address: otherwise an account's owner could look up the operator's internal names.
      return refused(forbidden, `${host} leads to an address that is not public`, attempt.startedMs);
    }
    const origin = `${url.protocol}//${host}:${portOf(url)}`;
    const keyOf = (address: string) => `${origin}@${address}`;

    const kept = fresh ? undefined : idle.takeAny(addresses.map(keyOf));
    if (kept !== undefined) {
      const exchange = await exchangeOn(attempt, kept.connection, kept.key, asked, 0);
      // If the kept connection was closed before anything was written, the receiver has not seen the request, and it is
      // sent over a new connection. Once bytes are written, the receiver may have read them, so sending again would be
      // another attempt.
      const isUnseen = "error" in exchange && !exchange.written && attempt.ended === undefined;
      if (!isUnseen) return replyOf(attempt, exchange, true);
    }

    const target = { port: portOf(url), tlsHost: url.protocol === "https:" ? host : undefined, ca };
    const connection = await connect(attempt, target, addresses);
    if (typeof connection.made === "string") return noAnswer(attempt, connection.made);
    const key = keyOf(connection.address);
    return replyOf(attempt, await exchangeOn(attempt, connection.made, key, asked, acceptedWithinMs), false);
  }

  async function exchangeOn(
    attempt: Attempt,
    connection: Connection,
    key: string,
    { request, keptBytes }: Asked,
    settlesInMs: number,
  ): Promise<Exchange> {
    attempt.phase = "answering";
    attempt.connected = true;
    attempt.cancel = () => {
      if (attempt.ended?.startsWith("timed out"))
        attempt.ended = `${attempt.ended}, waiting for ${connection.awaits()}`;
      connection.destroy();
    };
    if (attempt.ended !== undefined) connection.destroy();
    const inOrder = attempt.start?.inOrder();
    if (inOrder !== undefined) await inOrder;
    const exchanging = connection.exchange(request, keptBytes);
    if (settlesInMs === 0) attempt.start?.leave();
    else if (attempt.start !== undefined) setTimeout(attempt.start.leave, settlesInMs);
    const exchange = await exchanging;
    attempt.cancel = () => undefined;
    if ("answer" in exchange && exchange.answer.reusableMs > 0) idle.put(key, connection, exchange.answer.reusableMs);
    return exchange;
  }

  return { post, close: idle.close };
}

/** The error text of a delivery, or null if it succeeded, which any 2xx answer means (contract §10.3). */
export function deliveryError(reply: WebhookReply): string | null {
  if (reply.kind !== "answered") return reply.error;
  const { status } = reply;
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? `answered ${status}: redirects are not followed` : `answered ${status}`;
}

/**
 * The next delivery of an inbox waits for this time after a request on a new connection. Otherwise the receiver could
 * read that delivery first, from a connection that it has already accepted.
 */
const acceptedWithinMs = 2;

/** The bytes of a request, and the number of bytes of the response to keep. */
interface Asked {
  request: string | Uint8Array;
  keptBytes: number | undefined;
}

/**
 * The bytes of a POST request, or of a GET request if there is no body (RFC 9112 §3). Throws for a header value with a line
 * break, which would split the request in two.
 */
function requestBytes(
  url: URL,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array | undefined,
): string | Uint8Array {
  const path = url.pathname + url.search;
  const method = body === undefined ? "GET" : "POST";
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${hostField(url)}\r\naccept: */*\r\naccept-encoding: identity\r\n`;
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || !/^[\x20-\x7e]*$/.test(value)) {
      throw new Error(`Cannot send webhook: header ${JSON.stringify(name)} is malformed`);
    }
    text += `${name}: ${value}\r\n`;
  }
  if (body === undefined) return `${text}\r\n`;
  text += `content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return typeof body === "string" ? text + body : Buffer.concat([Buffer.from(text), body]);
}

function hostField(url: URL): string {
  const isUsual = portOf(url) === (url.protocol === "https:" ? 443 : 80);
  return isUsual ? url.hostname : `${url.hostname}:${portOf(url)}`;
}

function replyOf(attempt: Attempt, exchange: Exchange, wasKept: boolean): WebhookReply {
  if ("error" in exchange) {
    const isStale = wasKept && !exchange.heard && attempt.ended === undefined;
    return { ...noAnswer(attempt, exchange.error), ...(isStale && { stale: true }) };
  }
  const { status, body, retryAfter } = exchange.answer;
  return { kind: "answered", status, body, retryAfter, latencyMs: sinceMs(attempt.startedMs) };
}

function noAnswer(attempt: Attempt, error: string): Extract<WebhookReply, { kind: "no_answer" }> {
  const { connected, startedMs, ended } = attempt;
  return { kind: "no_answer", error: ended ?? error, latencyMs: sinceMs(startedMs), connected };
}

function refused(address: string, error: string, startedMs: number): WebhookReply {
  return { kind: "refused_address", address, error, latencyMs: sinceMs(startedMs) };
}

function sinceMs(startedMs: number): number {
  return Math.round(performance.now() - startedMs);
}
