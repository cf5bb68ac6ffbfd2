import { useState } from "preact/hooks";
import { href } from "../address.ts";
import { inboxd, type Schemas } from "../api.ts";
import { clearDraft, useDraft } from "../compose/draft.ts";
import { BodyCount, notifyWaiting, SendAt, SendButton, SendProblem, useSending } from "../compose/sending.tsx";
import { notify } from "../frame/notice.tsx";

interface QuickReplyProps {
  threadId: string;
  messages: readonly Schemas["ListedMessage"][];
  onSent(): void;
}

/** A reply to the last person who wrote. Its draft is kept during navigation. */
export function QuickReply({ threadId, messages, onSent }: QuickReplyProps) {
  const name = `reply ${threadId}`;
  const [body, setBody] = useDraft(name);
  const [tried, setTried] = useDraft(`${name} tried`);
  const [sendAt, setSendAt] = useState("");
  const sending = useSending(name);
  const last = messages.at(-1);
  const answered = messages.findLast(({ direction }) => direction === "inbound") ?? last;
  if (last === undefined || answered === undefined) return null;
  const { inboxId, id: readUpToMessageId } = last;
  const answerTo = answered.direction === "inbound" ? (answered.replyTo ?? answered.fromAddr) : answered.toAddr;
  const time = sendAt === "" ? {} : { sendAt: new Date(sendAt).toISOString() };
  const email = triedEmail(tried, { body, ...time }) ?? { to: answerTo, threadId, body, readUpToMessageId, ...time };
  const { to } = email;

  function send() {
    if (body.trim() === "") return;
    setTried(JSON.stringify(email));
    void sending.send(
      { to, body, sendAt },
      (idempotencyKey) => inboxd.messages.send(inboxId, email, { idempotencyKey }),
      (outcome) => {
        if (outcome.kind !== "unknown") setTried("");
        if (outcome.kind !== "sent") return;
        const { status, state, messageId } = outcome.sent;
        clearDraft(name);
        setBody("");
        setSendAt("");
        if (state !== undefined) notifyWaiting(state, messageId);
        else if (status === "failed") notify(`The mail to ${to} was refused`, "bad");
        else notify(`Sent to ${to}`, "good");
        onSent();
      },
    );
  }

  return (
    <form
      class="quick-reply"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label for="reply">
        Reply to <span class="wrap">{to}</span>
      </label>
      <textarea
        id="reply"
        rows={4}
        readOnly={sending.isBusy}
        value={body}
        aria-describedby="send-fault"
        onInput={(event) => setBody(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) send();
          if (event.key === "Escape") event.currentTarget.blur();
        }}
      />
      <details class="more-options">
        <summary>Send later</summary>
        <SendAt
          value={sendAt}
          isDisabled={sending.isBusy}
          isWrong={sending.problem?.faults.sendAt !== undefined}
          onChange={setSendAt}
        />
      </details>
      <SendProblem sending={sending} onSend={send} />
      <div class="quick-reply-foot">
        <a href={href("compose", { thread: threadId, message: answered.id })}>More: attachments, other recipients</a>
        <BodyCount body={body} />
        <SendButton isDisabled={sending.isBusy || body.trim() === ""} />
      </div>
    </form>
  );
}

interface ReplyEmail {
  to: string;
  threadId: string;
  body: string;
  readUpToMessageId: string;
  sendAt?: string;
}

/**
 * The email of an earlier try without a response, if the text and the time are still the same. It is sent again unchanged, because
 * the idempotency key belongs to exactly this email. Its `readUpToMessageId` may be an earlier message than the last
 * one by now.
 */
function triedEmail(tried: string, { body, sendAt }: Pick<ReplyEmail, "body" | "sendAt">): ReplyEmail | undefined {
  if (tried === "") return undefined;
  const email: ReplyEmail = JSON.parse(tried);
  return email.body === body && email.sendAt === sendAt ? email : undefined;
}
