import { cursorAtRow, type RowKey } from "../../domain/cursor.ts";
import { type DeliveryState, listEndpointDeliveries } from "../../store/events/endpoint-deliveries.ts";
import { type Endpoint, laneOf } from "../../store/events/endpoints.ts";
import type { Deps } from "../deps.ts";

export interface EndpointDeliveriesRequest {
  endpoint: Endpoint;
  before: RowKey | undefined;
  limit: number;
  state: DeliveryState | undefined;
  /** The query that a cursor of this list belongs to. */
  question: unknown;
}

/** The most events that one page looks at. */
const mostLookedAt = 1000;

/** The deliveries of events to an endpoint, the newest first. */
export async function pageEndpointDeliveries({ db }: Deps, request: EndpointDeliveriesRequest) {
  const { endpoint, before, limit, state, question } = request;
  const { rows, lookedTo } = await listEndpointDeliveries(db.api, {
    accountId: endpoint.accountId,
    lane: laneOf(endpoint),
    before: before && { writtenBy: before.number, id: before.id },
    state,
    limit: limit + 1,
    mostLookedAt,
  });
  const shown = rows.slice(0, limit);
  const goesOnAt = rows.length > limit ? shown.at(-1) : lookedTo;
  return {
    data: shown.map(({ id, writtenBy: _writtenBy, type, lastAttemptAt, nextAttemptAt, occurredAt, ...row }) => ({
      event_id: id,
      event: type,
      state: row.state,
      attempts: row.attempts,
      lastAttemptAt: lastAttemptAt?.toISOString() ?? null,
      lastStatus: row.lastStatus,
      lastError: row.lastError,
      nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
      occurred_at: occurredAt.toISOString(),
      subject: row.subject,
      lastLatencyMs: row.lastLatencyMs,
    })),
    nextCursor: goesOnAt === undefined ? null : cursorAtRow({ number: goesOnAt.writtenBy, id: goesOnAt.id }, question),
  };
}
