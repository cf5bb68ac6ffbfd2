import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { formatFullTime } from "../format.ts";
import { useReloadOn } from "../live.ts";
import { AttachmentList } from "../mail/attachment-list.tsx";
import { act } from "../parts/act.ts";
import { useBusy } from "../parts/busy.ts";
import { curl, Scrolled } from "../parts/command.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { CursorPager, useCursors } from "../parts/pager.tsx";
import { Tag } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";
import { may } from "../session.ts";

type Draft = Schemas["Draft"];
type Waiting = Draft & { approval: Schemas["Approval"] };

const reasonTexts: Readonly<Record<Schemas["Approval"]["reasons"][number], string>> = {
  policy: "The policy asks for all mail",
  new_recipient: "A recipient is new",
};

/** The mail that waits until a person approves it. */
export function ApprovalList() {
  const cursors = useCursors();
  const { cursor } = cursors;
  const page = useLoaded(
    () => inboxd.drafts.list({ state: ["awaiting_approval"], cursor, limit: 50 }).page(),
    [cursor],
  );
  useReloadOn((event) => event.startsWith("approval."), page.reload);
  const listed = (page.value?.data ?? []).filter((draft): draft is Waiting => draft.approval !== null);

  return (
    <Page title="Approvals" about="Mail that waits for a person. Without a decision it is never sent.">
      <LoadState of={page} />
      {page.value && listed.length === 0 && (
        <Empty
          icon="done"
          title="Nothing waits for approval"
          command={curl("GET", "v1/drafts?state=awaiting_approval")}
        >
          <p>
            With the policy “once a person approves”, mail of your agents waits here. You set it under{" "}
            <a href={href("rules")}>Rules</a>.
          </p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ul class="rows">
          {listed.map((draft) => (
            <ApprovalRow key={draft.id} draft={draft} onDecided={page.reload} />
          ))}
        </ul>
      )}
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
    </Page>
  );
}

interface RowProps {
  draft: Waiting;
  onDecided(): void;
}

function ApprovalRow({ draft, onDecided }: RowProps) {
  const [isOpen, setIsOpen] = useState(false);
  const { to, cc, bcc, subject, approval } = draft;
  const isNew = approval.newRecipients.length > 0;
  return (
    <li class="row row-fold">
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>
          <span class="strong">{[...to, ...cc, ...bcc].map(({ address }) => address).join(", ")}</span>
          <span class="quiet-text">{subject || "(no subject)"}</span>
          <span class="event-when">
            <Tag tone={isNew ? "warm" : "plain"}>{isNew ? "New recipient" : "All mail"}</Tag>{" "}
            <Time at={approval.requestedAt} as="short" />
          </span>
        </summary>
        {isOpen && <Asked draft={draft} onDecided={onDecided} />}
      </details>
    </li>
  );
}

/** A mail as it would be sent. It is read again for each version, so that nobody approves another text than the shown one. */
function Asked({ draft, onDecided }: RowProps) {
  const { id, version, approval, to, cc, bcc, subject, sendAt, replyToMessageId, threadId } = draft;
  const read = useLoaded(() => inboxd.messages.get(id), [id, version]);
  const mail = read.value;
  return (
    <>
      <LoadState of={read} />
      {mail && (
        <>
          <dl class="facts">
            <dt>Why</dt>
            <dd>{approval.reasons.map((reason) => reasonTexts[reason]).join(". ")}</dd>
            <dt>From</dt>
            <dd>
              {mail.fromName !== null && `${mail.fromName} `}
              <a href={href(`inboxes/${draft.inboxId}`)}>{mail.fromAddr}</a>
            </dd>
            {mail.replyTo !== null && (
              <>
                <dt>Answers go to</dt>
                <dd>
                  <code>{mail.replyTo}</code>
                </dd>
              </>
            )}
            <Addressees name="To" of={to} approval={approval} />
            <Addressees name="Cc" of={cc} approval={approval} />
            <Addressees name="Bcc" of={bcc} approval={approval} />
            <dt>Subject</dt>
            <dd>{subject || "(no subject)"}</dd>
            {replyToMessageId !== null && (
              <>
                <dt>Answers</dt>
                <dd>
                  <a href={href(`threads/${threadId}`)}>the conversation</a>
                </dd>
              </>
            )}
            <dt>Is sent</dt>
            <dd>{sendAt === null ? "at once" : formatFullTime(new Date(sendAt))}</dd>
            <dt>Asked</dt>
            <dd>
              <Time at={approval.requestedAt} />
              {approval.edited && ", changed since by somebody else than its maker"}
            </dd>
            <dt>Expires</dt>
            <dd>
              <Time at={approval.expiresAt} as="due" />
            </dd>
          </dl>
          <div class="fold-mail">
            <Scrolled isBlock>{mail.bodyText}</Scrolled>
            {draft.body !== null && draft.bodyHtml !== null && (
              <>
                <h3>Source of the HTML version, which most programs show</h3>
                <Scrolled isBlock>{draft.bodyHtml}</Scrolled>
              </>
            )}
          </div>
          <AttachmentList messageId={id} attachments={mail.attachments} />
          {may("manage") && <Decision id={id} version={version} onDecided={onDecided} />}
        </>
      )}
    </>
  );
}

interface AddresseesProps {
  name: string;
  of: Draft["to"];
  approval: Waiting["approval"];
}

function Addressees({ name, of, approval }: AddresseesProps) {
  if (of.length === 0) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {of.map(({ address, name: person }) => (
          <div key={address}>
            {person !== null && `${person} `}
            <code>{address}</code> {approval.newRecipients.includes(address) && <Tag tone="warm">new</Tag>}
          </div>
        ))}
      </dd>
    </>
  );
}

function Decision({ id, version, onDecided }: { id: string; version: number; onDecided(): void }) {
  const [reason, setReason] = useState("");
  const { isBusy, unlessBusy } = useBusy();
  const decide = (work: () => Promise<unknown>, done: string) =>
    void unlessBusy(() =>
      act(async () => {
        await work();
        return done;
      }, onDecided),
    );
  return (
    <form
      class="fold-tools"
      onSubmit={(event) => {
        event.preventDefault();
        decide(() => inboxd.drafts.reject(id, { version, reason: reason.trim() || undefined }), "The mail is rejected");
      }}
    >
      <button
        type="button"
        class="primary"
        disabled={isBusy}
        onClick={() => decide(() => inboxd.drafts.approve(id, { version }), "The mail is approved")}
      >
        Approve
      </button>
      <input
        aria-label="Reason of a rejection"
        placeholder="Reason, which the agent is told"
        maxLength={500}
        value={reason}
        onInput={(event) => setReason(event.currentTarget.value)}
      />
      <button type="submit" class="danger" disabled={isBusy}>
        Reject
      </button>
    </form>
  );
}
