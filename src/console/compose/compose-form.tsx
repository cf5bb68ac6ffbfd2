import { useRef, useState } from "preact/hooks";
import { go, href } from "../address.ts";
import { wordsOf } from "../api.ts";
import { tell } from "../frame/notice.tsx";
import { newIdempotencyKey } from "../machine.ts";
import { may } from "../session.ts";
import { numberWords } from "../words.ts";
import { clearDraft, useDraft } from "./draft.ts";
import { FilePicker } from "./file-picker.tsx";
import type { Purpose } from "./purpose.ts";
import { RecipientFields } from "./recipient-fields.tsx";
import { SendButton } from "./send-button.tsx";
import { sendMail } from "./send-mail.ts";

const longest = 100_000;
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
  const [fault, setFault] = useState<string | undefined>(undefined);
  const [isBusy, setIsBusy] = useState(false);
  // Made when the form opens: a double click, or a second try after a lost answer, is one mail.
  const key = useRef(newIdempotencyKey());

  async function send() {
    if (isBusy) return;
    setIsBusy(true);
    try {
      const mail = { from, to, cc, bcc, subject, body, isMarkdown, files, answered, forwarded, toAll };
      const sent = await sendMail(mail, key.current);
      clearDraft(...fields.map(draft));
      tell(sent.status === "failed" ? "It was refused" : "Sent", sent.status === "failed" ? "bad" : "good");
      go(may("read") ? href(`threads/${sent.threadId}`) : href("inboxes"), true);
    } catch (error) {
      setFault(wordsOf(error));
      // What was refused was not sent: what is changed now is another mail.
      key.current = newIdempotencyKey();
      setIsBusy(false);
    }
  }

  return (
    <form
      class="compose"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void send();
      }}
    >
      <div class="line">
        <label for="from">From</label>
        <select
          id="from"
          value={from}
          disabled={answered !== undefined}
          onChange={(event) => setFrom(event.currentTarget.value)}
        >
          {inboxes.map(({ id, address }) => (
            <option key={id} value={id}>
              {address}
            </option>
          ))}
        </select>
      </div>
      <RecipientFields toAll={toAll} {...{ to, setTo, cc, setCc, bcc, setBcc }} />
      <div class="line">
        <label for="subject">Subject</label>
        <input
          id="subject"
          value={subject}
          maxLength={998}
          placeholder={subjectWords(purpose)}
          onInput={(event) => setSubject(event.currentTarget.value)}
        />
      </div>
      <textarea
        class="compose-body"
        aria-label="Text"
        rows={14}
        maxLength={longest}
        value={body}
        onInput={(event) => setBody(event.currentTarget.value)}
      />
      <FilePicker files={files} onChange={setFiles} />
      {fault !== undefined && (
        <p class="fault" role="alert">
          {fault}
        </p>
      )}
      <ComposeFoot length={body.length} {...{ isMarkdown, setIsMarkdown, isBusy }} />
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
  length: number;
  isMarkdown: boolean;
  isBusy: boolean;
  setIsMarkdown(isMarkdown: boolean): void;
}

function ComposeFoot({ length, isMarkdown, isBusy, setIsMarkdown }: ComposeFootProps) {
  return (
    <div class="compose-foot">
      <label class="check">
        <input type="checkbox" checked={isMarkdown} onChange={(event) => setIsMarkdown(event.currentTarget.checked)} />
        Markdown
      </label>
      <span class="reply-count">{length > 0 && `${numberWords(length)} / ${numberWords(longest)}`}</span>
      <SendButton isDisabled={isBusy} />
    </div>
  );
}
