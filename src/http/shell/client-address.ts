import { isIpAddress, originOf } from "../../standards/ip.ts";

/** How to read the peer's address of each request. It is read only when it is needed. */
const peers = new WeakMap<Request, () => string | undefined>();

/** Notes from which address a request came. A request that the service makes to itself has the peer of the request that caused it. */
export function notePeer(request: Request, peer: () => string | undefined): void {
  peers.set(request, peer);
}

/** The address of the other end of the request's connection; undefined if it came by no network. */
export function peerOf(request: Request): string | undefined {
  const peer = peers.get(request)?.();
  return peer === undefined ? undefined : originOf(peer).host;
}

/**
 * The address of the client. If the peer is a trusted proxy, it is the right-most address of X-Forwarded-For that is not one: all to the
 * left of it may be forged.
 */
export function clientAddress(request: Request, trustedProxies: readonly string[] = []): string | undefined {
  const peer = peerOf(request);
  if (peer === undefined || !trustedProxies.includes(peer)) return peer;
  const forwarded = (request.headers.get("x-forwarded-for") ?? "")
    .split(",")
    .map((entry) => originOf(entry.trim()).host);
  const client = forwarded.findLast((address) => !trustedProxies.includes(address));
  return client !== undefined && isIpAddress(client) ? client : peer;
}
