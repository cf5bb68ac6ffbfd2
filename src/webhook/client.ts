import { checkWebhookUrl, hostOf, portOf } from "../domain/events/webhook-url.ts";
import { isIpAddress, isPublicAddress } from "../standards/ip.ts";
import { type Attempt, connect, endInTime, newAttempt, unlessEnded } from "./attempt.ts";
import type { Connection, Exchange } from "./connection.ts";
import { idleConnections } from "./idle-connections.ts";
import { requestText } from "./request.ts";
import { type Lookup, resolver, systemLookup } from "./resolve.ts";
import type { Start } from "./starts.ts";

/**
 * The guarded POST, and GET: it talks to strangers' addresses from inside the operator's network, so what it may do is small.
 *
 * It writes HTTP/1.1 on a socket that it opened itself to an address that it has checked. No name is looked up between
 * check and connection, and there is no redirect to follow, proxy to obey, cookie to keep or content coding to unpack,
 * because nothing here knows how.
 *
 * Why it is ours. `fetch` knows all of that: it looks the name up again after our check, obeys `HTTP_PROXY`, reads
 * `file:` URLs, unpacks what comes (a bomb of gzip reached 886 MB), and has 256 requests in flight for the whole process,
 * so that 300 receivers that hang hold up the one that doesn't. `node:http` can be pinned to an address, but then
 * everything else that it knows has to be switched off, and it is slower.
 *
 * Measured in turn on a busy machine of two cores with the receiver beside it (Bun 1.4.5, concurrency 100, unsigned):
 * this client 13,300 requests a second at 51 µs of CPU each; `node:http`, unguarded and kept alive, 7,600 to 11,500 at
 * 81 µs; this client with a fresh connection each time 2,700 to 5,400 at 190 to 230 µs, without TLS, where each
 * fresh one would cost a handshake on both sides as well.
 *
 * So connections are kept alive, for at most four seconds. They are kept by address and host: an attempt whose look-up
 * gives other addresses doesn't meet an old one, and the answers are checked again whether or not a connection waits.
 */
export interface WebhookClient {
  post(request: WebhookRequest): Promise<WebhookReply>;
  /** Lets go of idle connections. Posts in hand go on to their end. */
  close(): void;
}

export interface WebhookRequest {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Undefined: a GET. */
  body: string | undefined;
  /** How much of the answer's body is kept; 4 KiB unless said. */
  keptBytes?: number;
  signal?: AbortSignal | undefined;
  /** Its place among others: nothing is written before those before it. */
  start?: Start | undefined;
  /** Not over a connection that was kept. */
  fresh?: boolean;
}

export type WebhookReply =
  | {
      kind: "answered";
      status: number;
      /** Clean text of at most as many bytes as are kept; empty where the answer is compressed. */
      body: string;
      retryAfter: string | undefined;
      latencyMs: number;
    }
  /** Nothing was sent: the URL, or an address that its host has, is not one to go to. */
  | { kind: "refused_address"; address: string; error: string; latencyMs: number }
  | {
      kind: "no_answer";
      error: string;
      latencyMs: number;
      /** Whether someone took the connection: a hanging receiver, not a dead one. */
      connected: boolean;
      /** It was a kept connection that broke, before a byte of an answer: most likely its time was over on the other side. */
      stale?: true;
    };

export interface WebhookClientOptions {
  /** Development: plain http and every address. */
  allowPrivate: boolean;
  /** Of `inboxd/<version>`, the user agent. */
  version: string;
  /** Over look-up, connection, TLS, headers and body together. */
  timeoutMs?: number;
  lookup?: Lookup;
  /** The addresses to go to, where they should differ from `allowPrivate`. */
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
    const request = requestText(url, { ...headers, "user-agent": `inboxd/${version}` }, body);
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
    // One bad answer among good ones is refused whole: which one a connection takes must not be a matter of luck.
    const forbidden = addresses.find((address) => !permits(address));
    if (forbidden !== undefined) {
      // Not which: whoever sets a webhook would read the addresses of names that only we can resolve.
      return refused(forbidden, `${host} leads to an address that is not public`, attempt.startedMs);
    }
    const origin = `${url.protocol}//${host}:${portOf(url)}`;
    const keyOf = (address: string) => `${origin}@${address}`;

    const kept = fresh ? undefined : idle.takeAny(addresses.map(keyOf));
    if (kept !== undefined) {
      const exchange = await exchangeOn(attempt, kept.connection, kept.key, asked, 0);
      // Closed just before we wrote: nobody has seen the request, so a fresh one takes it. Once bytes are out it may have been
      // read, and to ask again is an attempt of its own.
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

/** What was wrong with a delivery, in words; null when it was taken: any 2xx (contract §10.3). */
export function deliveryError(reply: WebhookReply): string | null {
  if (reply.kind !== "answered") return reply.error;
  const { status } = reply;
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? `answered ${status}: redirects are not followed` : `answered ${status}`;
}

/**
 * A receiver has to accept a fresh connection before it can read from it, and would meanwhile read what is written right after on
 * one that it knows. Nobody but the next delivery of the same inbox waits for this.
 */
const acceptedWithinMs = 2;

/** The bytes of a request, and how much of its answer is kept. */
interface Asked {
  request: string;
  keptBytes: number | undefined;
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
