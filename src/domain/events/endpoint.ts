import type { CustomHeader } from "../message.ts";
import { defaultEventTypes, everyEvent } from "./event-types.ts";
import { type IncludeWord, inOrder } from "./subscription.ts";

/** The settings of a webhook endpoint. */
export interface EndpointSettings {
  url: string;
  /** A label for people. */
  description: string | null;
  eventTypes: string[];
  /** Null: events of all inboxes. */
  inboxIds: string[] | null;
  /** Null: whatever `externalId` the inbox has. */
  externalIds: string[] | null;
  skipAutomated: boolean;
  include: string[];
  /** The header fields that are sent with each delivery, in addition to those of the service. */
  headers: readonly CustomHeader[];
}

export type DisabledReason = "gone" | "failing" | "manual";

/** The state of an endpoint, which the service sets by itself. */
export interface EndpointState {
  disabledAt: Date | null;
  disabledReason: DisabledReason | null;
  failingSince: Date | null;
  /** The instant of the first 2xx answer from its URL. */
  answeredAt: Date | null;
}

/** The settings to change. Settings that are left out stay as they are. */
export type EndpointChange = Partial<EndpointSettings> & { disabled?: boolean };

type Changeable = Omit<EndpointSettings, "url"> & { url: string | null } & EndpointState;

/** The default settings of a new endpoint. */
export const usualSettings: Omit<EndpointSettings, "url"> = {
  description: null,
  eventTypes: [...defaultEventTypes],
  inboxIds: null,
  externalIds: null,
  skipAutomated: false,
  include: [],
  headers: [],
};

/** The state of a new endpoint. */
export const neverTried: EndpointState = {
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  answeredAt: null,
};

/**
 * The endpoint after a change. `disabled: false`, or a new URL without `disabled`, enables the endpoint and forgets its failures. If the
 * endpoint is already disabled, `disabled: true` keeps the earlier instant and reason.
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

/** The settings without repetitions, and with `*` alone if it is among the event types. */
export function tidied<Settings extends Partial<EndpointSettings>>(settings: Settings): Settings {
  const { eventTypes, inboxIds, externalIds, include } = settings;
  return {
    ...settings,
    ...(eventTypes && { eventTypes: eventTypes.includes(everyEvent) ? [everyEvent] : [...new Set(eventTypes)] }),
    ...(inboxIds && { inboxIds: [...new Set(inboxIds)] }),
    ...(externalIds && { externalIds: [...new Set(externalIds)] }),
    ...(include && { include: inOrder(include) satisfies IncludeWord[] }),
  };
}
