import { useState } from "preact/hooks";
import { place } from "../address.ts";
import { inboxd, isNotThere, type Schemas } from "../api.ts";
import { Empty } from "../parts/empty.tsx";
import { useLoaded } from "../parts/loaded.ts";
import { Conversation } from "./conversation.tsx";
import { ThreadList } from "./thread-list.tsx";

/** An inbox: its list, and beside it or in its place the thread that is open. */
export function Mail() {
  const [kind, id = ""] = place.value.path.split("/");
  const threadId = kind === "threads" ? id : undefined;
  const [inboxId, setInboxId] = useState<string | undefined>(undefined);
  const shownInbox = kind === "inboxes" ? id : inboxId;
  const inbox = useLoaded(() => (shownInbox === undefined ? nothing : inboxd.inboxes.get(shownInbox)), [shownInbox]);

  if (isNotThere(inbox.error)) {
    return (
      <div class="page">
        <Empty icon="inboxes" title="This inbox is not there">
          <p>It was deleted, or belongs to another account.</p>
        </Empty>
      </div>
    );
  }
  return (
    <div class={threadId === undefined ? "mail" : "mail has-thread"}>
      {inbox.value ? (
        <ThreadList key={inbox.value.id} inbox={inbox.value} openId={threadId} />
      ) : (
        <div class="threads" />
      )}
      <section class="conversation-pane" aria-label="Conversation">
        {threadId === undefined ? (
          <p class="nothing-open">Choose a thread to read it here</p>
        ) : (
          <Conversation key={threadId} threadId={threadId} onFound={setInboxId} />
        )}
      </section>
    </div>
  );
}

const nothing: Promise<Schemas["Inbox"] | undefined> = Promise.resolve(undefined);
