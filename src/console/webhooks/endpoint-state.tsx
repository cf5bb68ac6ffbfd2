import type { Schemas } from "../api.ts";
import { Tag } from "../parts/tag.tsx";

export function EndpointState({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  if (endpoint.disabledAt !== null) {
    const why = { gone: "gone", failing: "it did not answer", manual: "by you" }[endpoint.disabledReason ?? "manual"];
    return <Tag tone="bad">disabled: {why}</Tag>;
  }
  return endpoint.failingSince === null ? <Tag tone="good">answers</Tag> : <Tag tone="warm">failing</Tag>;
}
