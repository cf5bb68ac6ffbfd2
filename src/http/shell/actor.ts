import type { Actor } from "../../domain/access/actor.ts";
import type { Account } from "./auth.ts";
import { clientAddress } from "./client-address.ts";
import { requestIdHeader } from "./request-headers.ts";

export interface Asked {
  request: Request;
  set: { headers: Record<string, string | number> };
}

/** The caller of a request as the audit names it. */
export function actorOf(
  { keyId, kind }: Pick<Account, "keyId" | "kind">,
  { request, set }: Asked,
  trustedProxies?: readonly string[] | undefined,
): Actor {
  return {
    type: kind === "operator" ? "operator" : "key",
    id: keyId,
    // Read when an entry is written, because asking for the address of a connection takes 3 µs and most requests leave no entry.
    get ip() {
      return clientAddress(request, trustedProxies) ?? null;
    },
    requestId: String(set.headers[requestIdHeader]),
  };
}
