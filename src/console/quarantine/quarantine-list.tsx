import { useState } from "preact/hooks";
import { apiHref, href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { formatFullTime, formatSize } from "../format.ts";
import { useReloadOn } from "../live.ts";
import { VerdictTag } from "../mail/verdict.tsx";
import { act } from "../parts/act.ts";
import { curl } from "../parts/command.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { CursorPager, useCursors } from "../parts/pager.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { Tag, type Tone } from "../parts/tag.tsx";
import { Time } from "../parts/time.tsx";

type QuarantinedMail = Schemas["QuarantinedMail"];
type Reason = QuarantinedMail["reason"];

const reasons: Readonly<Record<Reason, { text: string; why: string; tone: Tone }>> = {
  rule: { text: "Rule", why: "A rule blocks the sender", tone: "bad" },
  dmarc: { text: "DMARC", why: "Nothing proves the sender, and its domain asks not to take such mail", tone: "bad" },
  unauthenticated: { text: "Not proven", why: "The sender is not proven", tone: "warm" },
  spam: { text: "Spam", why: "The spam filter calls it spam", tone: "warm" },
  unlisted: { text: "Not listed", why: "No rule allows the sender", tone: "plain" },
  judge: { text: "Judge", why: "The operator’s judge asked for it", tone: "warm" },
};
const filters: readonly (readonly [Reason | undefined, string])[] = [
  [undefined, "All"],
  ...(Object.keys(reasons) as Reason[]).map((name) => [name, reasons[name].text] as const),
];

/** The mail that rules and policies have blocked. */
export function QuarantineList() {
  const [reason, setReason] = useState<Reason | undefined>(undefined);
  const cursors = useCursors();
  const { cursor } = cursors;
  const [toDelete, setToDelete] = useState<QuarantinedMail | undefined>(undefined);
  const page = useLoaded(() => inboxd.quarantine.list({ reason, cursor, limit: 50 }).page(), [reason, cursor]);
  useReloadOn((event) => event === "message.blocked", page.reload);
  const listed = page.value?.data ?? [];

  const change = (work: () => Promise<unknown>, done: string) =>
    act(async () => {
      await work();
      return done;
    }, page.reload);

  return (
    <Page
      title="Quarantine"
      about="Mail that a rule or a policy has blocked. It is in no inbox and no list, until you release it."
    >
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
          icon="quarantine"
          title={reason === undefined ? "No blocked mail" : "No mail with this reason"}
          command={curl("GET", "v1/quarantine")}
        >
          <p>Without rules and policies all mail is taken. To read the quarantine in a shell:</p>
        </Empty>
      )}
      {listed.length > 0 && (
        <ul class="rows">
          {listed.map((mail) => (
            <QuarantineRow
              key={mail.id}
              mail={mail}
              onRelease={() => void change(() => inboxd.quarantine.release(mail.id), "The mail is in its inbox now")}
              onDelete={() => setToDelete(mail)}
            />
          ))}
        </ul>
      )}
      <CursorPager cursors={cursors} next={page.value?.nextCursor} />
      {toDelete && (
        <Confirm
          title={`Delete the mail from ${toDelete.fromAddr || "nobody"}?`}
          verb="Delete"
          onDone={(isConfirmed) => {
            setToDelete(undefined);
            if (isConfirmed) void change(() => inboxd.quarantine.delete(toDelete.id), "The mail is deleted");
          }}
        >
          <p>It cannot be restored. Without that it is deleted {formatFullTime(new Date(toDelete.expiresAt))}.</p>
        </Confirm>
      )}
    </Page>
  );
}

interface QuarantineRowProps {
  mail: QuarantinedMail;
  onRelease(): void;
  onDelete(): void;
}

/** A line that opens. The words of strangers are shown as text alone. */
function QuarantineRow({ mail, onRelease, onDelete }: QuarantineRowProps) {
  const { id, reason, ruleId, fromAddr, fromName, envelopeFrom, toAddr, subject, preview, authentication } = mail;
  const { text, why, tone } = reasons[reason];
  return (
    <li class="row row-fold">
      <details>
        <summary>
          <span class="strong">{fromAddr || "No sender"}</span>
          <span class="quiet-text">
            {subject || "(no subject)"} · {preview}
          </span>
          <span class="event-when">
            <Tag tone={mail.messageId === null ? tone : "good"}>{mail.messageId === null ? text : "Released"}</Tag>{" "}
            <Time at={mail.receivedAt} />
          </span>
        </summary>
        <dl class="facts">
          <dt>Why</dt>
          <dd>
            {why}
            {ruleId !== null && (
              <>
                {" "}
                <code>{ruleId}</code>
              </>
            )}
          </dd>
          <dt>From</dt>
          <dd>
            {fromName !== null && `${fromName} `}
            <code>{fromAddr || "nobody"}</code>
            {envelopeFrom !== fromAddr && (
              <>
                , sent as <code>{envelopeFrom || "a bounce"}</code>
              </>
            )}
          </dd>
          <dt>Verdict</dt>
          <dd>{authentication === null ? "not checked" : <VerdictTag authentication={authentication} />}</dd>
          <dt>To</dt>
          <dd>
            <a href={href(`inboxes/${mail.inboxId}`)}>{toAddr}</a>
          </dd>
          <dt>Text</dt>
          <dd>{preview || "none"}</dd>
          <dt>Kept until</dt>
          <dd>{formatFullTime(new Date(mail.expiresAt))}</dd>
        </dl>
        <p class="fold-tools">
          {mail.messageId === null ? (
            <button type="button" class="small" onClick={onRelease}>
              Release
            </button>
          ) : (
            <a href={href(`messages/${mail.messageId}`)}>Open the message</a>
          )}
          <button type="button" class="small" onClick={onDelete}>
            Delete
          </button>
          <a href={apiHref(`v1/quarantine/${encodeURIComponent(id)}/raw`)} download={`${id}.eml`}>
            Download the mail
          </a>
          <span class="quiet-text">{formatSize(mail.sizeBytes)}</span>
        </p>
      </details>
    </li>
  );
}
