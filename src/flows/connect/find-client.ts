import { type Client, clientMetadata, isDocumentAddress } from "../../domain/connect/client.ts";
import { isId } from "../../domain/ids.ts";
import { findOAuthClient } from "../../store/account/oauth-clients.ts";
import type { WebhookClient } from "../../webhook/client.ts";
import type { Deps } from "../deps.ts";

export interface FindingDeps extends Pick<Deps, "db"> {
  /** The guarded client, with a short time limit. */
  documents: Pick<WebhookClient, "post">;
  /** Whether a metadata document may be at an http address, for development. */
  allowHttp: boolean;
}

const longestDocumentBytes = 5_120;

/**
 * Finds a client by its id: a registered one, or one whose id is the address of its metadata document. The document is read each time, and
 * only for people who have signed in, so that strangers cannot make the service ask other servers. A text is the fault.
 */
export async function findClient(deps: FindingDeps, clientId: string): Promise<Client | string> {
  if (isId("ocl", clientId)) {
    const registered = await findOAuthClient(deps.db.api, clientId);
    return registered ?? "the program is not registered here, or its registration has ended; it must register again";
  }
  if (!isDocumentAddress(clientId, deps.allowHttp))
    return "client_id is neither a registered id nor an https address with a path";
  return readDocument(deps, clientId);
}

async function readDocument({ documents }: FindingDeps, clientId: string): Promise<Client | string> {
  const reply = await documents.post({
    url: clientId,
    headers: { accept: "application/json" },
    body: undefined,
    keptBytes: longestDocumentBytes + 1,
  });
  const where = `the metadata document ${clientId}`;
  if (reply.kind !== "answered") return `${where} cannot be read: ${reply.error}`;
  if (reply.status !== 200) return `${where} cannot be read: the server answered ${reply.status}`;
  if (Buffer.byteLength(reply.body) > longestDocumentBytes)
    return `${where} is longer than ${longestDocumentBytes} bytes`;
  const value = parsed(reply.body);
  const metadata = clientMetadata(value);
  if (typeof metadata === "string") return `${where} is not valid: ${metadata}`;
  if ((value as { client_id?: unknown }).client_id !== clientId) return `${where} has another client_id`;
  return { id: clientId, ...metadata };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
