import { useEffect, useState } from "preact/hooks";
import { go, href } from "../address.ts";
import { inboxd, isNotFound, type Schemas } from "../api.ts";
import { formatCount } from "../format.ts";
import { useKeys } from "../frame/keyboard.ts";
import { useEvents } from "../live.ts";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { useTitle } from "../parts/page.tsx";
import { may } from "../session.ts";
import { type AsOf, isReadNow, mark, nextStep } from "./marking.ts";
import { MessageView } from "./message-view.tsx";
import { QuickReply } from "./quick-reply.tsx";

interface ConversationProps {
  threadId: string;
  /** Called with the id of the inbox that the thread is in. */
  onFound(inboxId: string): void;
}

const perPage = 50;

/** A thread, with its last message open and the earlier ones collapsed. */
export function Conversation({ threadId, onFound }: ConversationProps) {
  const [pages, setPages] = useState(1);
  const thread = useLoaded(() => lastMessages(threadId, pages * perPage), [threadId, pages]);
  const messages = thread.value?.data ?? [];
  const last = messages.at(-1);
  useTitle(thread.value?.subject || "Thread");
  useEffect(() => {
    if (last !== undefined) onFound(last.inboxId);
  }, [last?.inboxId]);
  useEvents((event) => {
    if ("thread_id" in event && event.thread_id === threadId) thread.reload();
  });
  const isRead = thread.value !== undefined && isReadNow({ ...thread.value, id: threadId });
  const toggleRead = () => {
    if (thread.value !== undefined && may("mark")) void mark(threadId, !isRead, last?.id);
  };
  const back = href(last === undefined ? "inboxes" : `inboxes/${last.inboxId}`);
  useKeys({
    u: () => go(back),
    m: toggleRead,
    r: () => document.querySelector<HTMLElement>("#reply")?.focus(),
  });

  if (isNotFound(thread.error)) {
    return (
      <Empty icon="inboxes" title="Thread not found">
        <p>
          It may have been deleted with its inbox. <a href={href("inboxes")}>Go to the inboxes</a>
        </p>
      </Empty>
    );
  }
  if (thread.value === undefined) return <LoadState of={thread} lines={6} />;
  const { subject, total } = thread.value;
  return (
    <article class="conversation">
      <header class="conversation-head">
        <a class="button quiet-button back" href={back} aria-label="Back to the list">
          <Icon name="back" />
        </a>
        <div class="conversation-title">
          <h2>{subject || "(no subject)"}</h2>
          <p class="quiet-text">
            {formatCount(total, "message")}
            {isRead ? "" : " · unread"}
          </p>
        </div>
        {may("mark") && (
          <button type="button" class="small" aria-keyshortcuts="m" onClick={toggleRead}>
            {isRead ? "Mark unread" : "Mark read"}
          </button>
        )}
      </header>
      <LoadState of={thread} />
      {total > messages.length && (
        <button type="button" class="earlier" onClick={() => setPages(pages + 1)}>
          Show {Math.min(perPage, total - messages.length)} of {formatCount(total - messages.length, "earlier message")}
        </button>
      )}
      <ol class="messages">
        {messages.map((message, index) => (
          <li key={message.id}>
            <MessageView message={message} isLast={index === messages.length - 1} />
          </li>
        ))}
      </ol>
      {may("send") && last && <QuickReply threadId={threadId} messages={messages} onSent={thread.reload} />}
    </article>
  );
}

/** The last `max` messages of a thread. */
async function lastMessages(threadId: string, max: number): Promise<AsOf<Schemas["ThreadMessages"]>> {
  const asOf = nextStep();
  const begun = await inboxd.threads.messages(threadId, { limit: perPage }).page();
  if (begun.total <= perPage) return { ...begun, asOf };
  const first = Math.max(0, begun.total - max);
  const data: Schemas["ListedMessage"][] = [];
  for await (const message of inboxd.threads.messages(threadId, { limit: perPage, offset: first })) data.push(message);
  return { ...begun, data, asOf };
}
