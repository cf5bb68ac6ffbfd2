import { useEffect, useRef, useState } from "preact/hooks";
import { route } from "../address.ts";
import { inboxd, isNotFound, type Schemas } from "../api.ts";
import { useWriteFrom } from "../frame/keyboard.ts";
import { Empty } from "../parts/empty.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Conversation } from "./conversation.tsx";
import { ThreadList } from "./thread-list.tsx";

/** An inbox: the list of its threads, and the open thread beside it, or instead of it on a narrow screen. */
export function Mail() {
  const [kind, id = ""] = route.value.path.split("/");
  const threadId = kind === "threads" ? id : undefined;
  // The list stays while a thread opens: until its inbox is known, it is taken to be in the inbox shown last.
  const [inboxId, setInboxId] = useState<string | undefined>(undefined);
  const shownInbox = kind === "inboxes" ? id : inboxId;
  useEffect(() => setInboxId(shownInbox), [shownInbox]);
  useWriteFrom(shownInbox);
  const listsAll = useRef(false);
  const showInboxOf = (found: string) => {
    if (!listsAll.current) setInboxId(found);
  };
  const inbox = useLoaded(() => (shownInbox === undefined ? nothing : inboxd.inboxes.get(shownInbox)), [shownInbox]);

  if (isNotFound(inbox.error)) {
    return (
      <div class="page">
        <Empty icon="inboxes" title="Inbox not found">
          <p>It was deleted, or it belongs to another account.</p>
        </Empty>
      </div>
    );
  }
  return (
    <div class={threadId === undefined ? "mail" : "mail has-thread"}>
      {inbox.value ? (
        <ThreadList
          key={inbox.value.id}
          inbox={inbox.value}
          openId={threadId}
          onScope={(isAll) => {
            listsAll.current = isAll;
          }}
        />
      ) : (
        <div class="threads" />
      )}
      <section class="conversation-pane" aria-label="Conversation">
        {threadId === undefined ? (
          <p class="nothing-open">Select a thread to read it here</p>
        ) : (
          <Conversation key={threadId} threadId={threadId} onFound={showInboxOf} />
        )}
      </section>
    </div>
  );
}

const nothing: Promise<Schemas["Inbox"] | undefined> = Promise.resolve(undefined);
