import { transaction } from "../../database/db.ts";
import type { Client, ClientMetadata } from "../../domain/connect/client.ts";
import { countUnusedClients, insertOAuthClient, lockRegistering } from "../../store/account/oauth-clients.ts";
import type { Deps } from "../deps.ts";

/** The most registrations from one address in an hour. */
const mostAnHour = 10;
/** The most registrations that nobody has used. They are removed after a day. */
const mostUnused = 1_000;
const hourMs = 3_600_000;

export interface RegisteredClient extends Client {
  registeredAt: Date;
}

/** Registers a client (RFC 7591). Anybody may, so it is limited. Undefined if a limit is reached. */
export function registerClient(
  deps: Deps,
  { name, redirectUris }: ClientMetadata,
  address: string | null,
): Promise<RegisteredClient | undefined> {
  const registeredAt = deps.now();
  const id = deps.newId("ocl", registeredAt);
  return transaction(deps.db.api, async (tx) => {
    await lockRegistering(tx);
    const since = new Date(registeredAt.getTime() - hourMs);
    const { unused, fromAddress } = await countUnusedClients(tx, { since, address });
    if (unused >= mostUnused || fromAddress >= mostAnHour) return undefined;
    await insertOAuthClient(tx, { id, name, redirectUris: [...redirectUris], registeredAt, registeredFrom: address });
    return { id, name, redirectUris, registeredAt };
  });
}
