import { everyEvent } from "./event-types.ts";
import { type IncludeWord, inOrder } from "./subscription.ts";

/** What its owner says of a webhook endpoint. */
export interface EndpointSettings {
  url: string;
  /** For people. */
  description: string | null;
  eventTypes: string[];
  /** Null: of all inboxes. */
  inboxIds: string[] | null;
  skipAutomated: boolean;
  include: string[];
}

export type DisabledReason = "gone" | "failing" | "manual";

/** What became of it. */
export interface EndpointState {
  disabledAt: Date | null;
  disabledReason: DisabledReason | null;
  failingSince: Date | null;
  /** When its address first answered with 2xx. */
  answeredAt: Date | null;
}

/** What is to be different; what is left out stays. */
export type EndpointChange = Partial<EndpointSettings> & { disabled?: boolean };

type Changeable = Omit<EndpointSettings, "url"> & { url: string | null } & EndpointState;

/**
 * The endpoint after a change. A new address is a new chance, as it is to be enabled by hand: what was known of the failures of the old
 * one is forgotten. Who is disabled already keeps the instant and the reason.
 */
export function withChange<Endpoint extends Changeable>(
  endpoint: Endpoint,
  { disabled, ...settings }: EndpointChange,
  at: Date,
): Endpoint {
  const isNewUrl = settings.url !== undefined && settings.url !== endpoint.url;
  const changed: Endpoint = { ...endpoint, ...tidied(settings), ...(isNewUrl && { answeredAt: null }) };
  if (disabled === true && endpoint.disabledAt === null)
    return { ...changed, disabledAt: at, disabledReason: "manual" };
  if (disabled === true || (disabled === undefined && !isNewUrl)) return changed;
  return { ...changed, disabledAt: null, disabledReason: null, failingSince: null };
}

/** Each word once; all types in one word. */
export function tidied<Settings extends Partial<EndpointSettings>>(settings: Settings): Settings {
  const { eventTypes, inboxIds, include } = settings;
  return {
    ...settings,
    ...(eventTypes && { eventTypes: eventTypes.includes(everyEvent) ? [everyEvent] : [...new Set(eventTypes)] }),
    ...(inboxIds && { inboxIds: [...new Set(inboxIds)] }),
    ...(include && { include: inOrder(include) satisfies IncludeWord[] }),
  };
}

/** An older inboxd disables without a reason, and knows one alone. */
export function reasonOf({ disabledAt, disabledReason }: EndpointState): DisabledReason | null {
  return disabledAt === null ? null : (disabledReason ?? "gone");
}
