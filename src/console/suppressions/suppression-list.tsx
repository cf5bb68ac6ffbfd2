import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { useReloadOn } from "../live.ts";
import { act } from "../parts/act.ts";
import { AddForm } from "../parts/add-form.tsx";
import { curl } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { CursorPager, useCursors } from "../parts/pager.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Tag, type Tone } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";

type Suppression = Schemas["Suppression"];

type Reason = Suppression["reason"];

const reasons: Readonly<Record<Reason, { text: string; tone: Tone }>> = {
  bounce: { text: "Bounced", tone: "bad" },
  complaint: { text: "Complained", tone: "bad" },
  unsubscribe: { text: "Unsubscribed", tone: "warm" },
  manual: { text: "Manual", tone: "plain" },
};
const filters: readonly (readonly [Reason | undefined, string])[] = [
  [undefined, "All"],
  ...(Object.keys(reasons) as Reason[]).map((name) => [name, reasons[name].text] as const),
];

/** The addresses that no mail is sent to, each with its reason. */
export function SuppressionList() {
  const [reason, setReason] = useState<Reason | undefined>(undefined);
  const cursors = useCursors();
  const { cursor } = cursors;
  const [toRemove, setToRemove] = useState<Suppression | undefined>(undefined);
  const page = useLoaded(() => inboxd.suppressions.list({ reason, cursor, limit: 50 }).page(), [reason, cursor]);
  useReloadOn((event) => event === "suppression.added", page.reload);
  const listed = page.value?.data ?? [];

  const remove = ({ id, address }: Suppression) =>
    act(async () => {
      await inboxd.suppressions.delete(id);
      return `${address} is no longer suppressed`;
    }, page.reload);

  return (
    <Page
      title="Suppressions"
      about="Addresses that no mail is sent to, because they bounced, complained, unsubscribed, or were added manually."
    >
      {may("manage") && (
        <AddForm
          name="address"
          label="Send no mail to"
          verb="Add"
          placeholder="jane@example.com"
          inputMode="email"
          add={async (address) => {
            await inboxd.suppressions.add({ address });
            page.reload();
            return `${address} is suppressed`;
          }}
        />
      )}
      <Tabs
        label="Filter by reason"
        choices={filters}
        chosen={reason}
        onChoose={(name) => {
          cursors.begin();
          setReason(name);
        }}
      />
      <LoadState of={page} />
      {page.value && listed.length === 0 && (
        <Empty
          icon="suppressions"
          title={reason === undefined ? "No suppressed addresses" : "No addresses with this reason"}
          command={curl("POST", "v1/suppressions", '{"address": "jane@example.com"}')}
        >
          <p>
            If a mail bounces permanently, its recipient is added automatically, to protect your reputation. To add one:
          </p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ul class="rows">
          {listed.map((suppression) => (
            <SuppressionRow key={suppression.id} suppression={suppression} onRemove={() => setToRemove(suppression)} />
          ))}
        </ul>
      )}
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
      {toRemove && (
        <Confirm
          title={`Send to ${toRemove.address} again?`}
          verb="Remove"
          onDone={(isConfirmed) => {
            setToRemove(undefined);
            if (isConfirmed) void remove(toRemove);
          }}
        >
          <p>The address is added again if it bounces. Do not write to people who complained.</p>
        </Confirm>
      )}
    </Page>
  );
}

function SuppressionRow({ suppression, onRemove }: { suppression: Suppression; onRemove: () => void }) {
  const { address, reason, detail, messageId, createdAt, expiresAt, inboxId } = suppression;
  return (
    <li class="row">
      <div class="row-link">
        <span class="strong">{address}</span>
        <span class="quiet-text">
          {detail ?? (inboxId === null ? "for the whole account" : "for one inbox")}
          {messageId !== null && (
            <>
              {" · "}
              <a href={href(`messages/${messageId}`)}>the mail</a>
            </>
          )}
        </span>
      </div>
      <div class="row-state">
        <Tag tone={reasons[reason].tone}>{reasons[reason].text}</Tag>
        <span class="quiet-text">
          {expiresAt === null ? (
            <Time at={createdAt} />
          ) : (
            <>
              until <Time at={expiresAt} as="short" />
            </>
          )}
        </span>
      </div>
      {may("manage") && (
        <div class="row-actions">
          <button type="button" class="quiet small" aria-label={`Remove ${address}`} title="Remove" onClick={onRemove}>
            <Icon name="remove" />
          </button>
        </div>
      )}
    </li>
  );
}
