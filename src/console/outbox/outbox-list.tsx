import { useState } from "preact/hooks";
import { go, href, place } from "../address.ts";
import { ask, wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { useReloadAt } from "../live.ts";
import { Confirm } from "../parts/confirm.tsx";
import { curl } from "../parts/curl.ts";
import { Empty } from "../parts/empty.tsx";
import { ListFault } from "../parts/fault.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { ShareBar } from "../parts/share-bar.tsx";
import { findOutbox, type OutboxItem } from "./outbox.ts";
import { OutboxRow } from "./outbox-row.tsx";

const states = ["ready", "running", "waiting"] as const;

/** What waits to go out: mail and deliveries, with what stood in their way. */
export function OutboxList() {
  const state = place.value.query.get("state") ?? undefined;
  const kind = place.value.query.get("kind") ?? undefined;
  const [cursor, setCursor] = useState<string | undefined>(undefined);
  const [leaving, setLeaving] = useState<OutboxItem | undefined>(undefined);
  const page = useLoaded(() => findOutbox({ kind, limit: "100", cursor }), [kind, cursor]);
  useReloadAt(() => true, page.reload);
  const items = page.value?.data ?? [];
  const shown = state === undefined ? items : items.filter((item) => item.state === state);

  async function act(item: OutboxItem, what: "retry" | "cancel") {
    try {
      if (what === "retry") await ask("POST", "/v1/outbox/{id}/retry", { path: { id: item.id } });
      else await ask("DELETE", "/v1/outbox/{id}", { path: { id: item.id } });
      tell(what === "retry" ? "It is in line now" : "It does not go out");
    } catch (error) {
      tell(wordsOf(error), "bad");
    }
    page.reload();
  }

  return (
    <Page title="Outbox" about="What waits to go out: mail, and what your webhooks are told.">
      {page.error !== undefined && <ListFault error={page.error} again={page.reload} />}
      {page.isSlow && <Placeholder />}
      {page.value && items.length === 0 && (
        <Empty icon="done" title="Nothing waits" command={curl("GET", "v1/outbox")}>
          <p>
            All that was to go out is out. What a server puts off stands here, with what it said and when it is tried
            again.
          </p>
        </Empty>
      )}
      {items.length > 0 && (
        <>
          <ShareBar
            label="The outbox by state"
            shares={states.map((name) => ({ name, count: items.filter((item) => item.state === name).length }))}
            chosen={state}
            onChoose={(name) => go(href("outbox", { state: name, kind }))}
          />
          <ul class="rows">
            {shown.map((item) => (
              <OutboxRow
                key={item.id}
                item={item}
                onRetry={() => void act(item, "retry")}
                onCancel={() => setLeaving(item)}
              />
            ))}
          </ul>
        </>
      )}
      {page.value?.nextCursor && (
        <div class="pager">
          <button type="button" onClick={() => setCursor(page.value?.nextCursor ?? undefined)}>
            Next
          </button>
        </div>
      )}
      {leaving && (
        <Confirm
          title="Take it out of the outbox?"
          verb={leaving.kind === "webhook" ? "Give it up" : "Cancel the mail"}
          onDone={(isWanted) => {
            setLeaving(undefined);
            if (isWanted) void act(leaving, "cancel");
          }}
        >
          <p>
            {leaving.kind === "webhook"
              ? "This delivery is given up. The event stays in the log, and can be delivered again."
              : "The mail is not sent to anybody whom it has not reached yet. It is shown as failed: canceled."}
          </p>
        </Confirm>
      )}
    </Page>
  );
}
