import { useState } from "preact/hooks";
import { href, place } from "../address.ts";
import { inboxd, isNotThere } from "../api.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { may } from "../session.ts";
import { DeliveryList } from "./delivery-list.tsx";
import { endpointActs } from "./endpoint-acts.ts";
import { EndpointFacts } from "./endpoint-facts.tsx";
import { SecretOnce } from "./secret-once.tsx";

/** One endpoint: what it is told, how it stands, and what each delivery came to. */
export function EndpointPage() {
  const id = place.value.path.split("/")[1] ?? "";
  const found = useLoaded(() => inboxd.webhooks.get(id), [id]);
  const [asking, setAsking] = useState<"delete" | "secret" | undefined>(undefined);
  const [secret, setSecret] = useState<string | undefined>(undefined);

  const { test, change, remove, rotate } = endpointActs(id, { onDone: found.reload, onSecret: setSecret });

  if (isNotThere(found.error)) {
    return (
      <Page title="Webhook">
        <Empty icon="webhooks" title="This endpoint is not there">
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
        endpoint &&
        may("manage") && (
          <>
            <button type="button" onClick={() => void test()}>
              Test
            </button>
            <button type="button" onClick={() => void change(endpoint.disabledAt === null)}>
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
      {found.error !== undefined && <Fault error={found.error} again={found.reload} />}
      {found.isSlow && <Placeholder />}
      {secret !== undefined && <SecretOnce secret={secret} onDone={() => setSecret(undefined)} />}
      {endpoint && (
        <>
          <EndpointFacts endpoint={endpoint} />
          <DeliveryList endpointId={id} isDisabled={endpoint.disabledAt !== null} />
        </>
      )}
      {asking === "delete" && (
        <Confirm title="Delete this endpoint?" verb="Delete endpoint" onDone={(isWanted) => answered(isWanted, remove)}>
          <p>It is told nothing any more, and what waits for it is given up.</p>
        </Confirm>
      )}
      {asking === "secret" && (
        <Confirm title="Make a new secret?" verb="New secret" onDone={(isWanted) => answered(isWanted, rotate)}>
          <p>Deliveries are then signed with both for a while, so that your program can be changed without a gap.</p>
        </Confirm>
      )}
    </Page>
  );

  function answered(isWanted: boolean, work: () => Promise<void>) {
    setAsking(undefined);
    if (isWanted) void work();
  }
}
