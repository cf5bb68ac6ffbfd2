export const webhookTimeoutMs = 1000;

/** The service's leases, without renewal. */
export const webhookLeaseMs = webhookTimeoutMs + 15_000;
export const relayLeaseMs = 60_000;
