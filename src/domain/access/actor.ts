export const actorTypes = ["key", "operator", "cli", "service", "approver"] as const;

/**
 * The one who changes something, for the audit. A token and a browser session act as their key. `cli` is the operator's command line,
 * `service` the service itself, `approver` a person who decides by a link.
 */
export interface Actor {
  type: (typeof actorTypes)[number];
  /** The id of the key or of the operator's key, or the address of the approver. */
  readonly id: string | null;
  /** The address of the client; null if the request came by no network. */
  readonly ip: string | null;
  requestId: string | null;
}

export const commandLine: Actor = { type: "cli", id: null, ip: null, requestId: null };
export const service: Actor = { type: "service", id: null, ip: null, requestId: null };

/** An actor, and the account in which it changes something. */
export interface ActorIn {
  accountId: string;
  actor: Actor;
}
