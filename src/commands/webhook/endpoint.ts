import type { Command } from "commander";
import { type ApiClient, apiClient, ofServer, type ServerOptions } from "../api-client.ts";
import { type OfAccount, ofAccount } from "../cli.ts";
import { UsageError } from "../failure.ts";
import { type Calendar, fullTime } from "../short-time.ts";

/** What the API answers, as far as the commands read it. */
export interface Endpoint {
  id: string;
  url: string | null;
  description: string | null;
  eventTypes: string[];
  inboxIds: string[] | null;
  skipAutomated: boolean;
  include: string[];
  isDefault: boolean;
  secretLast4: string;
  createdAt: string;
  disabledAt: string | null;
  disabledReason: string | null;
  failingSince: string | null;
  /** Shown where it was made just now. */
  secret?: string;
}

export interface WhoseOptions extends OfAccount, ServerOptions {}

/**
 * Of a command that means the default endpoint unless another is named: the default one is the operator's, who has the database
 * and needs no key. One that is named is asked of the server, as the account of the key.
 */
export function ofEndpoint(command: Command): Command {
  return ofServer(ofAccount(command));
}

/** The server that is asked where an endpoint is named. */
export function serverOf({ account, ...server }: WhoseOptions): ApiClient {
  if (account === undefined) return apiClient(server);
  throw new UsageError("Cannot use --account with the id of an endpoint: its account is that of the API key");
}

export function isEndpointId(id: string): boolean {
  return id.startsWith("whk_");
}

/** One of them, for a person. */
export function shownEndpoint(endpoint: Endpoint, calendar: Calendar): object {
  const { id, url, description, eventTypes, inboxIds, skipAutomated, include, isDefault, secret, secretLast4 } =
    endpoint;
  return {
    ...{ id, url, description, types: eventTypes.join(", "), inboxes: inboxIds?.join(", ") ?? "all" },
    ...{ skipAutomated, include: include.join(", "), default: isDefault },
    ...(secret === undefined ? { secretLast4 } : { secret }),
    created: fullTime(endpoint.createdAt, calendar),
    disabled: fullTime(endpoint.disabledAt, calendar),
    reason: endpoint.disabledReason,
    failingSince: fullTime(endpoint.failingSince, calendar),
  };
}
