import { useState } from "preact/hooks";
import { go, href } from "../address.ts";
import { tell } from "../frame/notice.tsx";
import { may } from "../session.ts";
import { BodyCount } from "./body-count.tsx";
import { clearDraft, useDraft } from "./draft.ts";
import { FilePicker } from "./file-picker.tsx";
import type { Purpose } from "./purpose.ts";
import { RecipientFields } from "./recipient-fields.tsx";
import { SendButton } from "./send-button.tsx";
import { SendFault } from "./send-fault.tsx";
import { sendMail } from "./send-mail.ts";
import { useSending } from "./sending.ts";

const fields = ["to", "cc", "bcc", "subject", "body"] as const;

export function ComposeForm({ name, purpose }: { name: string; purpose: Purpose }) {
  const { inboxes, answered, forwarded, toAll } = purpose;
  const draft = (field: (typeof fields)[number]) => `compose ${name} ${field}`;
  const [from, setFrom] = useState(purpose.inboxId ?? "");
  const [to, setTo] = useDraft(draft("to"), answered && !toAll ? answerTo(purpose) : "");
  const [cc, setCc] = useDraft(draft("cc"));
  const [bcc, setBcc] = useDraft(draft("bcc"));
  const [subject, setSubject] = useDraft(draft("subject"));
  const [body, setBody] = useDraft(draft("body"));
  const [isMarkdown, setIsMarkdown] = useState(false);
  const [files, setFiles] = useState<readonly File[]>([]);
  const sending = useSending(`compose ${name}`);
  const { isBusy } = sending;

  function send() {
    const mail = { from, to, cc, bcc, subject, body, isMarkdown, files, answered, forwarded, toAll };
    void sending.send(
      (key) => sendMail(mail, key),
      (outcome) => {
        if (outcome.kind !== "sent") return;
        const { status, threadId } = outcome.sent;
        clearDraft(...fields.map(draft));
        tell(status === "failed" ? "It was refused" : "Sent", status === "failed" ? "bad" : "good");
        go(may("read") ? href(`threads/${threadId}`) : href("inboxes"), true);
      },
    );
  }

  function sendAnother() {
    sending.beginAnother();
    send();
  }

  return (
    <form
      class="compose"
      noValidate
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
      <RecipientFields toAll={toAll} isReadOnly={isBusy} {...{ to, setTo, cc, setCc, bcc, setBcc }} />
      <div class="line">
        <label for="subject">Subject</label>
        <input
          id="subject"
          value={subject}
          readOnly={isBusy}
          placeholder={subjectWords(purpose)}
          onInput={(event) => setSubject(event.currentTarget.value)}
        />
      </div>
      <textarea
        class="compose-body"
        aria-label="Text"
        rows={14}
        readOnly={isBusy}
        value={body}
        aria-describedby="send-fault"
        onInput={(event) => setBody(event.currentTarget.value)}
      />
      <FilePicker files={files} isDisabled={isBusy} onChange={setFiles} />
      <SendFault sending={sending} onSendAnother={sendAnother} />
      <ComposeFoot {...{ body, isMarkdown, setIsMarkdown, isBusy }} />
    </form>
  );
}

function answerTo({ answered }: Purpose): string {
  if (answered === undefined) return "";
  return answered.direction === "inbound" ? (answered.replyTo ?? answered.fromAddr) : answered.toAddr;
}

/** What the service writes there unless one says otherwise. */
function subjectWords({ answered, forwarded }: Purpose): string {
  if (answered) return `Re: ${answered.subject.replace(/^re: ?/i, "")}`;
  return forwarded ? `Fwd: ${forwarded.subject.replace(/^fwd: ?/i, "")}` : "";
}

interface ComposeFootProps {
  body: string;
  isMarkdown: boolean;
  isBusy: boolean;
  setIsMarkdown(isMarkdown: boolean): void;
}

function ComposeFoot({ body, isMarkdown, isBusy, setIsMarkdown }: ComposeFootProps) {
  return (
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
  );
}
