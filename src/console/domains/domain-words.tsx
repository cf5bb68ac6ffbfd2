import type { Schemas } from "../api.ts";
import { Tag, type Tone } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";

export type Domain = Schemas["Domain"];
export type DomainRecord = Domain["records"][number];

const tones: Readonly<Record<Domain["status"], Tone>> = {
  pending: "accent",
  verified: "good",
  failing: "warm",
  failed: "bad",
};

/** The status of a domain, and when a failing one fails. */
export function DomainState({ domain: { status, failsAt } }: { domain: Domain }) {
  return (
    <span>
      <Tag tone={tones[status]}>{status}</Tag>
      {failsAt !== null && (
        <span class="quiet-text">
          {" "}
          fails <Time at={failsAt} as="due" />
        </span>
      )}
    </span>
  );
}

/** Whether mail goes out and comes in, as the end of a sentence about a domain. */
export function readinessText({ sending, receiving }: Domain): string {
  if (sending !== "ready") return "does not send or receive yet";
  return receiving === "ready" ? "sends and receives" : "sends, and receives no mail from outside";
}

/** The records that something is wrong with. A record that is only advice counts if it has a problem. */
export function wrongRecords({ records }: Domain): DomainRecord[] {
  return records.filter(
    ({ status, problem, required, purpose }) =>
      problem !== null || ((required || purpose === "mx") && (status === "missing" || status === "invalid")),
  );
}

/** The name of each record, and what it is for. */
export const purposes: Readonly<Record<DomainRecord["purpose"], readonly [name: string, about: string]>> = {
  dkim: ["DKIM", "proves that the domain is yours, and signs its mail"],
  mx: ["MX", "brings mail to the domain here"],
  return_path: ["Return path", "SPF agrees with the domain, and bounces come back"],
  dmarc: ["DMARC", "tells receivers what to do with forged mail"],
};
