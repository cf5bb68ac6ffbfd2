import type { Actor } from "../../domain/access/actor.ts";
import type { Account } from "./auth.ts";
import { clientAddress } from "./client-address.ts";
import { requestIdHeader } from "./request-headers.ts";

interface Asked {
  request: Request;
  set: { headers: Record<string, string | number> };
}

/** The caller of a request as the audit names it. */
export function actorOf(
  { keyId }: Pick<Account, "keyId">,
  { request, set }: Asked,
  trustedProxies?: readonly string[],
): Actor {
  const ip = clientAddress(request, trustedProxies) ?? null;
  return { type: "key", id: keyId, ip, requestId: String(set.headers[requestIdHeader]) };
}
