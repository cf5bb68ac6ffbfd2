import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { formatFullTime } from "../format.ts";
import { unhurried, useReloadOn } from "../live.ts";
import { act } from "../parts/act.ts";
import { curl } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { CursorPager, useCursors } from "../parts/pager.tsx";
import { Tag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";

type Draft = Schemas["Draft"];

/** A time to send that has passed by any clock. */
const longAgo = "2000-01-01T00:00:00Z";

/** The mail that is written or scheduled, and not sent yet. */
export function DraftList() {
  const cursors = useCursors();
  const { cursor } = cursors;
  const page = useLoaded(() => inboxd.drafts.list({ cursor, limit: 50 }).page(), [cursor]);
  useReloadOn(() => true, page.reload, unhurried);
  const [toDiscard, setToDiscard] = useState<Draft | undefined>(undefined);
  const listed = page.value?.data ?? [];

  const change = (work: () => Promise<unknown>, done: string) =>
    act(async () => {
      await work();
      return done;
    }, page.reload);

  /** Sends a draft now. A scheduled one gets a time that has passed, and the service sends it within a second. */
  const sendNow = ({ id, state }: Draft) =>
    state === "draft" ? inboxd.drafts.send(id) : inboxd.drafts.change(id, { sendAt: longAgo });

  return (
    <Page
      title="Drafts"
      about="Mail that is written, scheduled or waits for approval. It is in no thread until it is sent."
    >
      <LoadState of={page} />
      {page.value && listed.length === 0 && (
        <Empty icon="compose" title="No drafts" command={curl("GET", "v1/drafts")}>
          <p>Mail that you send later, and drafts of your programs, appear here.</p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ul class="rows">
          {listed.map((draft) => (
            <DraftRow
              key={draft.id}
              draft={draft}
              onSend={() => void change(() => sendNow(draft), "Sent")}
              onDiscard={() => setToDiscard(draft)}
            />
          ))}
        </ul>
      )}
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
      {toDiscard && (
        <Confirm
          title={toDiscard.state === "draft" ? "Discard this draft?" : "Cancel this mail?"}
          verb={toDiscard.state === "draft" ? "Discard draft" : "Cancel mail"}
          onDone={(isConfirmed) => {
            setToDiscard(undefined);
            if (isConfirmed) void change(() => inboxd.drafts.discard(toDiscard.id), "It is not sent");
          }}
        >
          <p>
            {toDiscard.sendAt === null
              ? "It cannot be restored."
              : `It would be sent ${formatFullTime(new Date(toDiscard.sendAt))}.`}
          </p>
        </Confirm>
      )}
    </Page>
  );
}

const stateWords: Partial<Record<Draft["state"], string>> = {
  draft: "Draft",
  scheduled: "Scheduled",
  awaiting_approval: "Awaits approval",
};

function DraftRow({ draft, onSend, onDiscard }: { draft: Draft; onSend(): void; onDiscard(): void }) {
  const { id, state, sendAt, subject, createdAt, replyToMessageId, threadId } = draft;
  const to = draft.to.map(({ address }) => address).join(", ") || "nobody yet";
  const isAccepted = state !== "draft";
  const isAsked = state === "awaiting_approval";
  const accepted = isAsked ? href("approvals") : href(`messages/${id}`);
  const address = isAccepted ? accepted : replyToMessageId && href(`threads/${threadId}`);
  const content = (
    <>
      <span class="strong">{to}</span>
      <span class="quiet-text">{subject ?? "No subject"}</span>
    </>
  );
  return (
    <li class="row">
      {address ? (
        <a class="row-link" href={address}>
          {content}
        </a>
      ) : (
        <div class="row-link">{content}</div>
      )}
      <div class="row-state">
        <Tag tone={isAccepted ? "good" : "plain"}>{stateWords[state] ?? state}</Tag>
        <span class="quiet-text">
          {sendAt === null ? (
            <>
              written <Time at={createdAt} />
            </>
          ) : (
            <>
              sent <Time at={sendAt} as="due" />
            </>
          )}
        </span>
      </div>
      {may("mark") && (
        <div class="row-actions">
          {!isAsked && (
            <button
              type="button"
              class="quiet small"
              aria-label={`Send to ${to} now`}
              title="Send now"
              onClick={onSend}
            >
              <Icon name="out" />
            </button>
          )}
          <button
            type="button"
            class="quiet small"
            aria-label={`Discard the mail to ${to}`}
            title={isAccepted ? "Cancel" : "Discard"}
            onClick={onDiscard}
          >
            <Icon name="close" />
          </button>
        </div>
      )}
    </li>
  );
}
