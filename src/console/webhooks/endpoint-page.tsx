import { useState } from "preact/hooks";
import { go, href, route } from "../address.ts";
import { inboxd, isNotFound, type Schemas } from "../api.ts";
import { formatLatency } from "../format.ts";
import { notify } from "../frame/notice.tsx";
import { useReloadOn } from "../live.ts";
import { act } from "../parts/act.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Time } from "../parts/time.tsx";
import { DeliveryList } from "./delivery-list.tsx";
import { EndpointForm } from "./endpoint-form.tsx";
import { EndpointState, NewSecret } from "./endpoint-parts.tsx";

/** One endpoint: its settings, its state and its deliveries. */
export function EndpointPage() {
  const id = route.value.path.split("/")[1] ?? "";
  const found = useLoaded(() => inboxd.webhooks.get(id), [id]);
  useReloadOn((event) => event === "webhook.disabled", found.reload);
  const [asking, setAsking] = useState<"delete" | "secret" | undefined>(undefined);
  const [isEdited, setIsEdited] = useState(false);
  const [secret, setSecret] = useState<string | undefined>(undefined);

  const change = (action: () => Promise<string>) => act(action, found.reload);
  const test = () =>
    change(async () => {
      const { delivered, status, latencyMs, error } = await inboxd.webhooks.test(id);
      const time = formatLatency(latencyMs);
      if (!delivered) throw new Error(`Test failed: ${error ?? status ?? "no response"} after ${time}`);
      return `Test delivered: ${status} after ${time}`;
    });
  const disable = (disabled: boolean) =>
    change(async () => {
      await inboxd.webhooks.change(id, { disabled });
      return disabled ? "Endpoint disabled" : "Endpoint enabled";
    });
  const remove = () =>
    change(async () => {
      await inboxd.webhooks.delete(id);
      go(href("webhooks"), true);
      return "Endpoint deleted";
    });
  const rotate = () =>
    change(async () => {
      setSecret((await inboxd.webhooks.rotateSecret(id)).secret);
      return "New secret created. The old one stays valid for a while";
    });

  if (isNotFound(found.error)) {
    return (
      <Page title="Webhook">
        <Empty icon="webhooks" title="Endpoint not found">
          <p>
            It was deleted. <a href={href("webhooks")}>Go to the webhooks</a>
          </p>
        </Empty>
      </Page>
    );
  }
  const endpoint = found.value;
  return (
    <Page
      title="Webhook"
      about={<span class="wrap">{endpoint?.url}</span>}
      actions={
        endpoint && (
          <>
            <button type="button" onClick={() => void test()}>
              Test
            </button>
            <button type="button" disabled={isEdited} onClick={() => setIsEdited(true)}>
              Edit
            </button>
            <button type="button" onClick={() => void disable(endpoint.disabledAt === null)}>
              {endpoint.disabledAt === null ? "Disable" : "Enable"}
            </button>
            <button type="button" onClick={() => setAsking("secret")}>
              New secret
            </button>
            <button type="button" class="danger" onClick={() => setAsking("delete")}>
              Delete
            </button>
          </>
        )
      }
    >
      <LoadState of={found} />
      {secret !== undefined && <NewSecret secret={secret} onDone={() => setSecret(undefined)} />}
      {endpoint && (
        <>
          {isEdited ? <EndpointForm endpoint={endpoint} onDone={saved} /> : <EndpointFacts endpoint={endpoint} />}
          <DeliveryList endpoint={endpoint} />
        </>
      )}
      {asking === "delete" && (
        <Confirm
          title="Delete this endpoint?"
          verb="Delete endpoint"
          onDone={(isConfirmed) => answered(isConfirmed, remove)}
        >
          <p>It gets no more events, and its pending deliveries are dropped.</p>
        </Confirm>
      )}
      {asking === "secret" && (
        <Confirm
          title="Create a new secret?"
          verb="Create secret"
          onDone={(isConfirmed) => answered(isConfirmed, rotate)}
        >
          <p>
            For a while, deliveries are signed with both secrets, so that you can update your program without a gap.
          </p>
        </Confirm>
      )}
    </Page>
  );

  function saved(endpoint: Schemas["WebhookEndpoint"] | undefined) {
    setIsEdited(false);
    if (endpoint === undefined) return;
    notify("Endpoint saved");
    found.reload();
  }

  function answered(isConfirmed: boolean, action: () => Promise<void>) {
    setAsking(undefined);
    if (isConfirmed) void action();
  }
}

function EndpointFacts({ endpoint }: { endpoint: Schemas["WebhookEndpoint"] }) {
  const { eventTypes, inboxIds, skipAutomated, description, secretLast4, createdAt } = endpoint;
  return (
    <dl class="facts event-facts">
      <dt>State</dt>
      <dd>
        <EndpointState endpoint={endpoint} />
      </dd>
      <dt>Events</dt>
      <dd>
        {eventTypes.includes("*") ? "all events" : eventTypes.join(", ")}
        {skipAutomated && ", no received mail that a program wrote"}
      </dd>
      {inboxIds !== null && (
        <>
          <dt>Inboxes</dt>
          <dd>
            {inboxIds.map((inboxId) => (
              <a key={inboxId} href={href(`inboxes/${inboxId}`)}>
                {inboxId}{" "}
              </a>
            ))}
          </dd>
        </>
      )}
      {description !== null && (
        <>
          <dt>Description</dt>
          <dd>{description}</dd>
        </>
      )}
      <dt>Secret</dt>
      <dd>
        <code>…{secretLast4}</code>
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
    </dl>
  );
}
