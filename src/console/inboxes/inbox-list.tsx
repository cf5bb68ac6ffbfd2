import { useState } from "preact/hooks";
import { href, route } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { formatCount, formatNumber } from "../format.ts";
import { useReloadOn } from "../live.ts";
import { act } from "../parts/act.ts";
import { CopyButton, curl } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Time } from "../parts/time.tsx";
import { may, mayMakeInboxes } from "../session.ts";
import { NewInbox } from "./new-inbox.tsx";

const pageSize = 25;

/** The inboxes, of one domain if the address names it. */
export function InboxList() {
  const domain = route.value.query.get("domain") ?? undefined;
  const [offset, setOffset] = useState(0);
  const [toDelete, setToDelete] = useState<Schemas["Inbox"] | undefined>(undefined);
  const inboxes = useLoaded(() => inboxd.inboxes.list({ limit: pageSize, offset, domain }).page(), [offset, domain]);
  const listed = inboxes.value?.data ?? [];
  useReloadOn((event) => event.startsWith("inbox.") || event === "message.received", inboxes.reload);

  const remove = ({ id, address }: Schemas["Inbox"]) =>
    act(async () => {
      await inboxd.inboxes.delete(id);
      return `${address} is deleted`;
    }, inboxes.reload);

  const total = inboxes.value?.total ?? 0;
  const addresses = formatCount(total, "address", "addresses");
  return (
    <Page
      title="Inboxes"
      about={
        domain === undefined ? (
          inboxes.value && (total === 0 ? "Each inbox has a real email address." : addresses)
        ) : (
          <>
            {inboxes.value && addresses} at {domain} · <a href={href("inboxes")}>Show all</a>
          </>
        )
      }
    >
      {mayMakeInboxes() && <NewInbox onCreated={inboxes.reload} />}
      <LoadState of={inboxes} />
      {inboxes.value && listed.length === 0 && (
        <Empty icon="inboxes" title="No inboxes yet" command={newInboxCommand()}>
          <p>An inbox is an address that can receive mail at once. Enter a name above, or use the API:</p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ul class="rows inbox-rows">
          {listed.map((inbox) => (
            <li key={inbox.id} class="row">
              <a
                class="row-link"
                href={may("read") ? href(`inboxes/${inbox.id}`) : href("compose", { inbox: inbox.id })}
              >
                <span class="strong">{inbox.address}</span>
                <span class="quiet-text">
                  created <Time at={inbox.createdAt} />
                  {inbox.externalId !== null && <> · {inbox.externalId}</>}
                  {inbox.disabled && <> · disabled</>}
                </span>
              </a>
              {may("read") && (
                <div class="row-state">
                  <Unread count={inbox.unreadThreads} />
                </div>
              )}
              <div class="row-actions">
                <CopyButton text={inbox.address} what={`Copy ${inbox.address}`} />
                {may("manage") && (
                  <button
                    type="button"
                    class="quiet small"
                    aria-label={`Delete ${inbox.address}`}
                    title="Delete"
                    onClick={() => setToDelete(inbox)}
                  >
                    <Icon name="remove" />
                  </button>
                )}
              </div>
            </li>
          ))}
        </ul>
      )}
      <Pager offset={offset} pageSize={pageSize} total={total} onMove={setOffset} />
      {toDelete && (
        <Confirm
          title={`Delete ${toDelete.address}?`}
          verb="Delete inbox"
          onDone={(isConfirmed) => {
            setToDelete(undefined);
            if (isConfirmed) void remove(toDelete);
          }}
        >
          <p>All of its mail is deleted too, and the address stops receiving mail. This cannot be undone.</p>
        </Confirm>
      )}
    </Page>
  );
}

function Unread({ count }: { count: number }) {
  if (count === 0) return <span class="unread-count" />;
  return (
    <span class="unread-count">
      <strong>{formatNumber(count)}</strong> unread
    </span>
  );
}

export function newInboxCommand(): string {
  return curl("POST", "v1/inboxes", '{"username": "ada"}');
}
