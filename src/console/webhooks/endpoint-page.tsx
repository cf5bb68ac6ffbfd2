import { useState } from "preact/hooks";
import { go, href, place } from "../address.ts";
import { inboxd, isNotThere, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { Time } from "../parts/time.tsx";
import { mayWrite } from "../session.ts";
import { latencyWords } from "../words.ts";
import { DeliveryList } from "./delivery-list.tsx";
import { EndpointState } from "./endpoint-list.tsx";
import { SecretOnce } from "./secret-once.tsx";

/** One endpoint: what it is told, how it stands, and what each delivery came to. */
export function EndpointPage() {
  const id = place.value.path.split("/")[1] ?? "";
  const found = useLoaded(() => inboxd.webhooks.get(id), [id]);
  const [asking, setAsking] = useState<"delete" | "secret" | undefined>(undefined);
  const [secret, setSecret] = useState<string | undefined>(undefined);

  async function act(work: () => Promise<string>) {
    try {
      tell(await work());
      found.reload();
    } catch (error) {
      tell(wordsOf(error), "bad");
    }
  }
  const test = () =>
    act(async () => {
      const { delivered, status, latencyMs, error } = await inboxd.webhooks.test(id);
      const took = latencyWords(latencyMs);
      if (!delivered) throw new Error(`It did not take the test: ${error ?? status ?? "no answer"} after ${took}`);
      return `It took the test: ${status} after ${took}`;
    });
  const change = (disabled: boolean) =>
    act(async () => {
      await inboxd.webhooks.change(id, { disabled });
      return disabled ? "It is told nothing now" : "It is told again";
    });
  const remove = () =>
    act(async () => {
      await inboxd.webhooks.delete(id);
      go(href("webhooks"), true);
      return "The endpoint is deleted";
    });
  const rotate = () =>
    act(async () => {
      setSecret((await inboxd.webhooks.rotateSecret(id)).secret);
      return "There is a new secret; the old one holds for a while";
    });

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
        mayWrite() && (
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
          <dl class="facts event-facts">
            <dt>State</dt>
            <dd>
              <EndpointState endpoint={endpoint} />
              {endpoint.failingSince !== null && (
                <span class="quiet-text">
                  {" since "}
                  <Time at={endpoint.failingSince} />
                </span>
              )}
            </dd>
            <dt>Told of</dt>
            <dd>{endpoint.eventTypes.includes("*") ? "all events" : endpoint.eventTypes.join(", ")}</dd>
            {endpoint.description !== null && (
              <>
                <dt>Note</dt>
                <dd>{endpoint.description}</dd>
              </>
            )}
            <dt>Secret</dt>
            <dd>
              <code>…{endpoint.secretLast4}</code>
            </dd>
            <dt>Made</dt>
            <dd>
              <Time at={endpoint.createdAt} />
            </dd>
          </dl>
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
