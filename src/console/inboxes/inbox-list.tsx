import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { useReloadAt } from "../live.ts";
import { CopyButton } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { curl } from "../parts/curl.ts";
import { Empty } from "../parts/empty.tsx";
import { Fault } from "../parts/fault.tsx";
import { Icon } from "../parts/icon.tsx";
import { severalAtOnce, useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Placeholder } from "../parts/placeholder.tsx";
import { Time } from "../parts/time.tsx";
import { account, may } from "../session.ts";
import { countWords, numberWords } from "../words.ts";
import { deleteInbox } from "./delete-inbox.ts";
import { NewInbox } from "./new-inbox.tsx";

const pageSize = 25;

export function InboxList() {
  const [offset, setOffset] = useState(0);
  const [leaving, setLeaving] = useState<Schemas["Inbox"] | undefined>(undefined);
  const inboxes = useLoaded(() => inboxd.inboxes.list({ limit: pageSize, offset }).page(), [offset]);
  const listed = inboxes.value?.data ?? [];
  const unread = useLoaded(() => unreadCounts(may("read") ? listed : []), [listed.map(({ id }) => id).join()]);
  useReloadAt((event) => event.startsWith("inbox."), inboxes.reload);
  useReloadAt((event) => event === "message.received", unread.reload);

  async function answered(isWanted: boolean) {
    const inbox = leaving;
    setLeaving(undefined);
    if (!isWanted || inbox === undefined) return;
    tell(...(await deleteInbox(inbox)));
    inboxes.reload();
  }

  const total = inboxes.value?.total ?? 0;
  return (
    <Page
      title="Inboxes"
      about={
        inboxes.value &&
        (total === 0
          ? "Each is a real address."
          : `${countWords(total, "address", "addresses")} at ${account.value?.mailDomain}`)
      }
    >
      {may("manage") && <NewInbox onMade={inboxes.reload} />}
      {inboxes.error !== undefined && <Fault error={inboxes.error} again={inboxes.reload} />}
      {inboxes.isSlow && <Placeholder />}
      {inboxes.value && listed.length === 0 && (
        <Empty icon="inboxes" title="No inbox yet" command={newInboxLine()}>
          <p>An inbox is an address that receives mail at once. Name one above, or let a program make it:</p>
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
                  made <Time at={inbox.createdAt} />
                  {inbox.externalId !== null && <> · {inbox.externalId}</>}
                </span>
              </a>
              <Unread count={unread.value?.get(inbox.id)} />
              <CopyButton text={inbox.address} what={`Copy ${inbox.address}`} />
              {may("manage") && (
                <button
                  type="button"
                  class="quiet small"
                  aria-label={`Delete ${inbox.address}`}
                  title="Delete"
                  onClick={() => setLeaving(inbox)}
                >
                  <Icon name="remove" />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <Pager offset={offset} pageSize={pageSize} total={total} onMove={setOffset} />
      {leaving && (
        <Confirm
          title={`Delete ${leaving.address}?`}
          verb="Delete inbox"
          onDone={(isWanted) => void answered(isWanted)}
        >
          <p>Its mail goes with it, and the address receives no more. This can't be taken back.</p>
        </Confirm>
      )}
    </Page>
  );
}

function Unread({ count }: { count: number | undefined }) {
  if (count === undefined || count === 0) return <span class="unread-count" />;
  return (
    <span class="unread-count">
      <strong>{numberWords(count)}</strong> unread
    </span>
  );
}

async function unreadCounts(inboxes: readonly Schemas["Inbox"][]): Promise<Map<string, number>> {
  const counts = await severalAtOnce(
    inboxes.map(({ id }) => async () => {
      const { total } = await inboxd.threads.list(id, { is_read: false, limit: 1 }).page();
      return [id, total] as const;
    }),
  );
  return new Map(counts);
}

export function newInboxLine(): string {
  return curl("POST", "v1/inboxes", '{"username": "ada"}');
}
