import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { go, href } from "../address.ts";
import { errorText, inboxd, isNotFound, type Schemas } from "../api.ts";
import { formatCount } from "../format.ts";
import { useKeys } from "../frame/keyboard.ts";
import { notify } from "../frame/notice.tsx";
import { useReloadOn } from "../live.ts";
import { Confirm } from "../parts/confirm.tsx";
import { Empty } from "../parts/empty.tsx";
import { Icon } from "../parts/icon.tsx";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { useTitle } from "../parts/page.tsx";
import { may } from "../session.ts";
import { file, filings, label } from "./filing.ts";
import { FilingButtons } from "./filing-buttons.tsx";
import { type AsOf, isReadNow, mark, nextStep } from "./marking.ts";
import { MessageView } from "./message-view.tsx";
import { QuickReply } from "./quick-reply.tsx";

interface ConversationProps {
  threadId: string;
  /** Called with the id of the inbox that the thread is in. */
  onFound(inboxId: string): void;
}

const perPage = 50;
/** Each message has its codes, its links and its text without quotes. */
const include = "extracted";

/**
 * A thread. It opens at its first unread message, or else at its last one; the earlier ones are collapsed, and many of them are folded into one
 * line.
 */
export function Conversation({ threadId, onFound }: ConversationProps) {
  const [pages, setPages] = useState(1);
  const [isUnfolded, setIsUnfolded] = useState(false);
  /** The message or the thread that is deleted after a question. */
  const [toDelete, setToDelete] = useState<Schemas["ListedMessage"] | "thread" | undefined>(undefined);
  const list = useRef<HTMLOListElement>(null);
  const thread = useLoaded(() => lastMessages(threadId, pages * perPage), [threadId, pages]);
  const messages = thread.value?.data ?? [];
  const last = messages.at(-1);
  useTitle(thread.value?.subject || "Thread");
  useEffect(() => {
    if (last !== undefined) onFound(last.inboxId);
  }, [last?.inboxId]);
  useReloadOn((_, event) => "thread_id" in event && event.thread_id === threadId, thread.reload, { waitMs: 100 });
  /** Kept while the thread is open: what is marked or arrives meanwhile does not move it. */
  const start = useRef<Start | undefined>(undefined);
  if (thread.value !== undefined) start.current ??= startOf(thread.value);
  useKeptAtTop(list, thread.value !== undefined);
  const isRead = thread.value !== undefined && isReadNow({ ...thread.value, id: threadId });
  const toggleRead = () => {
    if (thread.value !== undefined && may("mark")) void mark(threadId, !isRead, last?.id);
  };
  useEffect(() => {
    if (filings.value > 0) thread.reload();
  }, [filings.value]);
  const shown = thread.value?.thread;
  const archive = () => {
    if (shown && may("mark")) void file(shown.inboxId, [shown], "archive");
  };
  const back = href(last === undefined ? "inboxes" : `inboxes/${last.inboxId}`);
  useKeys({
    u: () => go(back),
    m: toggleRead,
    e: archive,
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
  const deleteChosen = async (chosen: Schemas["ListedMessage"] | "thread") => {
    try {
      await (chosen === "thread" ? inboxd.threads.delete(threadId) : inboxd.messages.delete(chosen.id));
      notify(chosen === "thread" ? "The thread is deleted" : "The message is deleted");
      if (chosen === "thread" || total === 1) go(back);
      else thread.reload();
    } catch (error) {
      notify(errorText(error), "bad");
    }
  };
  const startIndex = messages.findIndex(({ id }) => id === start.current?.id);
  /** The messages between the first one and the one before the start. */
  const folded = isUnfolded || startIndex - 2 < fewestFolded ? 0 : startIndex - 2;
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
            {shown && shown.folder !== "inbox" && ` · ${shown.folder}`}
            {shown?.labels.map((name) => (
              <span key={name} class="thread-label">
                {name}
                {may("mark") && (
                  <button
                    type="button"
                    class="link"
                    aria-label={`Remove the label ${name}`}
                    onClick={() => void label(shown.inboxId, [shown], { remove_labels: [name] })}
                  >
                    ×
                  </button>
                )}
              </span>
            ))}
          </p>
        </div>
        {may("mark") && (
          <button type="button" class="small" aria-keyshortcuts="m" onClick={toggleRead}>
            {isRead ? "Mark unread" : "Mark read"}
          </button>
        )}
        {may("mark") && shown && <FilingButtons inboxId={shown.inboxId} threads={[shown]} />}
        {may("manage") && (
          <button type="button" class="small" onClick={() => setToDelete("thread")}>
            Delete thread
          </button>
        )}
      </header>
      <LoadState of={thread} />
      {total > messages.length && (
        <button
          type="button"
          class="earlier"
          onClick={() => {
            setPages(pages + 1);
            setIsUnfolded(true);
          }}
        >
          Show {Math.min(perPage, total - messages.length)} of {formatCount(total - messages.length, "earlier message")}
        </button>
      )}
      <ol class="messages" ref={list}>
        {messages.map((message, index) => {
          if (index > 1 && index <= folded) return null;
          if (index === 1 && folded > 0) {
            return (
              <li key="folded">
                <button type="button" class="earlier" onClick={() => setIsUnfolded(true)}>
                  Show {formatCount(folded, "message")} in between
                </button>
              </li>
            );
          }
          const isOpen = message === last || (start.current?.open.has(message.id) ?? false);
          return (
            <li key={message.id} data-start={index > 0 && index === startIndex ? "" : undefined}>
              <MessageView message={message} isOpenAtFirst={isOpen} onDelete={() => setToDelete(message)} />
            </li>
          );
        })}
      </ol>
      {toDelete && (
        <Confirm
          title={toDelete === "thread" ? "Delete this thread?" : "Delete this message?"}
          verb="Delete"
          onDone={(isConfirmed) => {
            setToDelete(undefined);
            if (isConfirmed) void deleteChosen(toDelete);
          }}
        >
          <p>
            {toDelete === "thread" ? formatCount(total, "message") : `The mail from ${toDelete.fromAddr || "nobody"}`}{" "}
            cannot be restored. Events that are not delivered yet are not delivered any more.
          </p>
        </Confirm>
      )}
      {may("send") && last && <QuickReply threadId={threadId} messages={messages} onSent={thread.reload} />}
    </article>
  );
}

const fewestFolded = 3;
/** The unread messages that are open at first. Each is a frame with a request of its own. */
const mostOpen = 5;

interface Start {
  /** The id of the message at which the thread opens. */
  id: string | undefined;
  /** The ids of the messages that are open at first. */
  open: ReadonlySet<string>;
}

/** The service keeps one flag for a thread: unread are then the messages that came since the last answer. */
function startOf({ data, isRead }: Schemas["ThreadMessages"]): Start {
  const answered = data.findLastIndex(({ direction, status }) => direction === "outbound" && status !== "failed");
  const unread = isRead ? [] : data.slice(answered + 1).filter(({ direction }) => direction === "inbound");
  const shown = unread.length === 0 ? data.slice(-1) : unread.slice(0, mostOpen);
  return { id: shown[0]?.id, open: new Set(shown.map(({ id }) => id)) };
}

/** Keeps the message of the start at the top while the mails are measured, until the user does something. */
function useKeptAtTop(list: RefObject<HTMLOListElement | null>, isLoaded: boolean): void {
  useLayoutEffect(() => {
    const first = list.current?.querySelector("[data-start]");
    if (!list.current || !first) return undefined;
    const observer = new ResizeObserver(() => first.scrollIntoView());
    observer.observe(list.current);
    const end = () => observer.disconnect();
    for (const type of acts) addEventListener(type, end, { once: true, passive: true });
    return () => {
      end();
      for (const type of acts) removeEventListener(type, end);
    };
  }, [isLoaded]);
}

const acts = ["wheel", "pointerdown", "keydown"] as const;

type LoadedThread = AsOf<Schemas["ThreadMessages"]> & { thread: AsOf<Schemas["Thread"]> };

/** A thread with its last `max` messages. */
async function lastMessages(threadId: string, max: number): Promise<LoadedThread> {
  const asOf = nextStep();
  const [begun, found] = await Promise.all([
    inboxd.threads.messages(threadId, { limit: perPage, include }).page(),
    inboxd.threads.get(threadId),
  ]);
  const thread = { ...found, asOf };
  if (begun.total <= perPage) return { ...begun, thread, asOf };
  const first = Math.max(0, begun.total - max);
  const data: Schemas["ListedMessage"][] = [];
  const rest = inboxd.threads.messages(threadId, { limit: perPage, offset: first, include });
  for await (const message of rest) data.push(message);
  return { ...begun, data, thread, asOf };
}
