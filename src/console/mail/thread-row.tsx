import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { Icon } from "../parts/icon.tsx";
import { Time } from "../parts/time.tsx";
import { type AsOf, isReadNow } from "./marking.ts";

interface ThreadRowProps {
  thread: AsOf<Schemas["Thread"]>;
  /** The address of the inbox: of the participants it is the one who is not named. */
  own: string;
  isOpen: boolean;
  isCurrent: boolean;
  isSelected: boolean;
  onSelect(): void;
  onFocus(): void;
}

export function ThreadRow({ thread, own, isOpen, isCurrent, isSelected, onSelect, onFocus }: ThreadRowProps) {
  const isRead = isReadNow(thread);
  const others = thread.participants.filter((address) => address !== own);
  const who = others.length === 0 ? own : others.join(", ");
  const classes = ["thread", isRead ? "" : "is-unread", isOpen ? "is-open" : "", isSelected ? "is-selected" : ""];
  return (
    <div class={classes.filter(Boolean).join(" ")}>
      <label class="thread-select">
        <input
          type="checkbox"
          checked={isSelected}
          tabIndex={isCurrent ? 0 : -1}
          onChange={onSelect}
          aria-label={`Select ${thread.subject || "thread"}`}
        />
      </label>
      <a
        href={href(`threads/${thread.id}`)}
        class="thread-link"
        data-thread={thread.id}
        tabIndex={isCurrent ? 0 : -1}
        aria-current={isOpen ? "true" : undefined}
        onFocus={onFocus}
      >
        <span class="thread-who">
          {!isRead && <span class="unseen">Unread. </span>}
          {who}
          {thread.messageCount > 1 && <span class="thread-count">{thread.messageCount}</span>}
        </span>
        <span class="thread-when">
          {thread.hasAttachments && (
            <>
              <Icon name="attachment" />
              <span class="unseen">Has attachments. </span>
            </>
          )}
          <Time at={thread.lastMessageAt} as="short" />
        </span>
        <span class="thread-what">
          <span class="thread-subject">{thread.subject || "(no subject)"}</span>
          <span class="thread-preview">{thread.preview}</span>
        </span>
      </a>
    </div>
  );
}
