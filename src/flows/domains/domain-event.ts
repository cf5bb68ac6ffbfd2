import type { DomainEventType } from "../../domain/domains/domain-states.ts";
import { domainReadiness } from "../../domain/domains/readiness.ts";
import { type ServiceNames, wantedRecords } from "../../domain/domains/records.ts";
import type { NewEvent } from "../../domain/events/event-types.ts";
import type { Domain, DomainKey } from "../../store/account/domains.ts";
import type { Deps } from "../deps.ts";

/** The event about a domain's new status, with its records as the check found them. */
export function domainEvent(
  { newId, names }: Pick<Deps, "newId"> & { names: ServiceNames },
  domain: Domain & { accountId: string },
  keys: readonly DomainKey[],
  type: DomainEventType,
  at: Date,
): NewEvent {
  const { id, accountId, name, status, recordsSeen } = domain;
  return {
    id: newId("evt", at),
    accountId,
    inboxId: null,
    threadId: null,
    messageId: null,
    type,
    occurredAt: at,
    data: {
      domain: { id, name, status, ...domainReadiness(domain), reason: domain.failedReason },
      records: wantedRecords(domain, keys, names).map((wanted) => {
        const seen = recordsSeen.find((each) => each.purpose === wanted.purpose && each.name === wanted.name);
        return {
          purpose: wanted.purpose,
          name: wanted.name,
          type: wanted.type,
          status: seen?.status ?? "unchecked",
          problem: seen?.problem ?? null,
        };
      }),
    },
  };
}
