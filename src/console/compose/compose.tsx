import { useEffect, useRef, useState } from "preact/hooks";
import { go, href, route } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { notify } from "../frame/notice.tsx";
import { newInboxCommand } from "../inboxes/inbox-list.tsx";
import { Empty } from "../parts/empty.tsx";
import { Fault, LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Page } from "../parts/page.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { may } from "../session.ts";
import { clearDraft, useDraft } from "./draft.ts";
import type { Faults, Field, Written } from "./faults.ts";
import { FilePicker, withFiles } from "./file-picker.tsx";
import { MarkdownPreview } from "./markdown-preview.tsx";
import { FieldFault, RecipientFields } from "./recipient-fields.tsx";
import { sendMail } from "./send-mail.ts";
import { BodyCount, notifyWaiting, SendAt, SendButton, SendProblem, useSending } from "./sending.tsx";

/** The screen for writing a new mail, a reply or a forward. */
export function Compose() {
  const { query } = route.value;
  const name = query.toString();
  const purpose = useLoaded(() => purposeOf(query), [name]);
  const { answered, forwarded } = purpose.value ?? {};
  const title = answered ? "Reply" : forwarded ? "Forward" : "New mail";
  return (
    <Page title={title} about={answered?.subject ?? forwarded?.subject}>
      <LoadState of={purpose} lines={6} />
      {!may("send") && <Fault error={new Error("This key can only read, so it cannot send mail.")} />}
      {purpose.value?.inboxes.length === 0 && (
        <Empty icon="inboxes" title="Create an inbox first" command={newInboxCommand()}>
          <p>Mail is sent from an inbox, and replies arrive there.</p>
        </Empty>
      )}
      {may("send") && purpose.value && purpose.value.inboxes.length > 0 && (
        <ComposeForm key={name} name={name} purpose={purpose.value} />
      )}
    </Page>
  );
}

/** The inboxes to send from, and the message to reply to or to forward. */
interface Purpose {
  inboxes: readonly Schemas["Inbox"][];
  inboxId: string | undefined;
  answered: Schemas["Message"] | undefined;
  toAll: boolean;
  forwarded: Schemas["Message"] | undefined;
}

async function purposeOf(query: URLSearchParams): Promise<Purpose> {
  const messageWith = async (id: string | null) => (id === null ? undefined : inboxd.messages.get(id));
  const [inboxes, answered, forwarded] = await Promise.all([
    inboxd.inboxes.list({ limit: 100 }).page(),
    messageWith(query.get("message")),
    messageWith(query.get("forward")),
  ]);
  const inboxId = answered?.inboxId ?? query.get("inbox") ?? forwarded?.inboxId ?? inboxes.data[0]?.id;
  const isListed = inboxId === undefined || inboxes.data.some(({ id }) => id === inboxId);
  return {
    inboxes: isListed ? inboxes.data : [await inboxd.inboxes.get(inboxId), ...inboxes.data],
    inboxId,
    answered,
    toAll: query.get("all") !== null,
    forwarded,
  };
}

const fields = ["to", "cc", "bcc", "subject", "body"] as const;

function ComposeForm({ name, purpose }: { name: string; purpose: Purpose }) {
  const { inboxes, answered, forwarded, toAll } = purpose;
  const draft = (field: (typeof fields)[number]) => `compose ${name} ${field}`;
  const [from, setFrom] = useState(purpose.inboxId ?? "");
  const [to, setTo] = useDraft(draft("to"), answered && !toAll ? answerTo(purpose) : "");
  const [cc, setCc] = useDraft(draft("cc"));
  const [bcc, setBcc] = useDraft(draft("bcc"));
  const [subject, setSubject] = useDraft(draft("subject"));
  const [body, setBody] = useDraft(draft("body"));
  const [isMarkdown, setIsMarkdown] = useState(false);
  const [unsubscribe, setUnsubscribe] = useState(false);
  const [sendAt, setSendAt] = useState("");
  const [isPreview, setIsPreview] = useState(false);
  const [files, setFiles] = useState<readonly File[]>([]);
  const [fileFault, setFileFault] = useState<string | undefined>(undefined);
  const [isDropping, setIsDropping] = useState(false);
  const sending = useSending(`compose ${name}`);
  const { isBusy, problem } = sending;
  const mail = { from, to, cc, bcc, subject, body, isMarkdown, files, answered, forwarded, toAll, unsubscribe, sendAt };
  // A fault is shown until its field changes.
  const left = Object.entries(problem?.faults ?? {}).filter(([field]) =>
    isSame(field as Field, mail, problem?.written),
  );
  const faults: Faults = Object.fromEntries(left);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus(), [problem]);

  function send() {
    void sending.send(
      mail,
      (key) => sendMail(mail, key),
      (outcome) => {
        if (outcome.kind !== "sent") return;
        const { status, threadId, messageId, state } = outcome.sent;
        clearDraft(...fields.map(draft));
        if (state !== undefined) {
          notifyWaiting(state, messageId);
          return go(may("read") ? href("drafts") : href("inboxes"), true);
        }
        notify(status === "failed" ? "The mail was refused" : "Sent", status === "failed" ? "bad" : "good");
        go(may("read") ? href(`threads/${threadId}`) : href("inboxes"), true);
      },
    );
  }

  function addFiles(added: FileList) {
    const { files: fitting, fault } = withFiles(files, added);
    setFiles(fitting);
    setFileFault(fault);
  }

  return (
    <form
      ref={form}
      class={isDropping ? "compose is-dropping" : "compose"}
      noValidate
      onDragOver={(event) => {
        if (isBusy || !event.dataTransfer?.types.includes("Files")) return;
        event.preventDefault();
        setIsDropping(true);
      }}
      onDragLeave={(event) => {
        const to = event.relatedTarget;
        if (!(to instanceof Node) || !event.currentTarget.contains(to)) setIsDropping(false);
      }}
      onDrop={(event) => {
        setIsDropping(false);
        if (isBusy || !event.dataTransfer?.files.length) return;
        event.preventDefault();
        addFiles(event.dataTransfer.files);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) send();
      }}
    >
      <div class="line">
        <label for="from">From</label>
        <select
          id="from"
          value={from}
          disabled={isBusy || answered !== undefined}
          onChange={(event) => setFrom(event.currentTarget.value)}
        >
          {inboxes.map(({ id, address }) => (
            <option key={id} value={id}>
              {address}
            </option>
          ))}
        </select>
      </div>
      <RecipientFields
        toAll={toAll}
        isReadOnly={isBusy}
        faults={faults}
        to={to}
        setTo={setTo}
        cc={cc}
        setCc={setCc}
        bcc={bcc}
        setBcc={setBcc}
      />
      <div class="line">
        <label for="subject">Subject</label>
        <input
          id="subject"
          value={subject}
          readOnly={isBusy}
          placeholder={defaultSubject(purpose)}
          aria-invalid={faults.subject !== undefined}
          aria-describedby="subject-fault"
          onInput={(event) => setSubject(event.currentTarget.value)}
        />
      </div>
      <FieldFault id="subject" text={faults.subject} />
      {isMarkdown && (
        <Tabs
          label="Text"
          choices={[
            [false, "Markdown"],
            [true, "Preview"],
          ]}
          chosen={isPreview}
          onChoose={setIsPreview}
        />
      )}
      {isMarkdown && isPreview ? (
        <MarkdownPreview body={body} />
      ) : (
        <textarea
          class="compose-body"
          aria-label="Text"
          rows={14}
          readOnly={isBusy}
          value={body}
          aria-invalid={faults.body !== undefined}
          aria-describedby="body-fault"
          onInput={(event) => setBody(event.currentTarget.value)}
        />
      )}
      <FieldFault id="body" text={faults.body} />
      <FilePicker
        files={files}
        isDisabled={isBusy}
        onAdd={addFiles}
        onRemove={(left) => {
          setFiles(left);
          setFileFault(undefined);
        }}
      />
      <FieldFault id="files" text={fileFault ?? faults.files} />
      <details class="more-options">
        <summary>More options</summary>
        <label class="check">
          <input
            type="checkbox"
            checked={unsubscribe}
            disabled={isBusy}
            onChange={(event) => setUnsubscribe(event.currentTarget.checked)}
          />
          The recipient can unsubscribe with one click
        </label>
        <SendAt value={sendAt} isDisabled={isBusy} isWrong={faults.sendAt !== undefined} onChange={setSendAt} />
        <FieldFault id="send-at" text={faults.sendAt} />
      </details>
      <SendProblem sending={sending} besideFields="Not sent: see the marked fields" onSend={send} />
      <div class="compose-foot">
        <label class="check">
          <input
            type="checkbox"
            checked={isMarkdown}
            disabled={isBusy}
            onChange={(event) => setIsMarkdown(event.currentTarget.checked)}
          />
          Markdown
        </label>
        <BodyCount body={body} />
        <SendButton isDisabled={isBusy} />
      </div>
    </form>
  );
}

function isSame(field: Field, mail: Written, refused: Written | undefined): boolean {
  return mail[field] === refused?.[field];
}

function answerTo({ answered }: Purpose): string {
  if (answered === undefined) return "";
  return answered.direction === "inbound" ? (answered.replyTo ?? answered.fromAddr) : answered.toAddr;
}

/** The subject that the service uses if the field is empty. */
function defaultSubject({ answered, forwarded }: Purpose): string {
  if (answered) return `Re: ${answered.subject.replace(/^re: ?/i, "")}`;
  return forwarded ? `Fwd: ${forwarded.subject.replace(/^fwd: ?/i, "")}` : "";
}
