import { useRef, useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas, wordsOf } from "../api.ts";
import { clearDraft, useDraft } from "../compose/draft.ts";
import { SendButton } from "../compose/send-button.tsx";
import { tell } from "../frame/notice.tsx";
import { newIdempotencyKey } from "../machine.ts";
import { numberWords } from "../words.ts";

interface QuickReplyProps {
  threadId: string;
  messages: readonly Schemas["ListedMessage"][];
  onSent(): void;
}

const longest = 100_000;

/** An answer to the last one who wrote. Half an answer is kept while one looks elsewhere. */
export function QuickReply({ threadId, messages, onSent }: QuickReplyProps) {
  const [body, setBody] = useDraft(`reply ${threadId}`);
  const [fault, setFault] = useState<string | undefined>(undefined);
  const [isBusy, setIsBusy] = useState(false);
  // A double click, or a second try after a lost answer, is one mail.
  const key = useRef(newIdempotencyKey());
  const last = messages.at(-1);
  const answered = messages.findLast(({ direction }) => direction === "inbound") ?? last;
  if (last === undefined || answered === undefined) return null;
  const to = answered.direction === "inbound" ? (answered.replyTo ?? answered.fromAddr) : answered.toAddr;

  async function send() {
    if (isBusy || body.trim() === "" || last === undefined) return;
    setIsBusy(true);
    try {
      const email = { to, threadId, body, readUpToMessageId: last.id };
      const { status } = await inboxd.messages.send(last.inboxId, email, { idempotencyKey: key.current });
      clearDraft(`reply ${threadId}`);
      setBody("");
      setFault(undefined);
      tell(status === "failed" ? `It was refused for ${to}` : `Sent to ${to}`, status === "failed" ? "bad" : "good");
      onSent();
    } catch (error) {
      setFault(wordsOf(error));
    }
    key.current = newIdempotencyKey();
    setIsBusy(false);
  }

  return (
    <form
      class="quick-reply"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label for="reply">
        Reply to <span class="wrap">{to}</span>
      </label>
      <textarea
        id="reply"
        rows={4}
        maxLength={longest}
        value={body}
        aria-describedby="reply-fault"
        onInput={(event) => setBody(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) void send();
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <p id="reply-fault" class="field-fault" role="alert">
        {fault}
      </p>
      <div class="quick-reply-foot">
        <a href={href("compose", { thread: threadId, message: answered.id })}>More: attachments, other recipients</a>
        <span class="reply-count">{body.length > 0 && `${numberWords(body.length)} / ${numberWords(longest)}`}</span>
        <SendButton isDisabled={isBusy || body.trim() === ""} />
      </div>
    </form>
  );
}
