import { Fragment } from "preact";
import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { Icon } from "../parts/icon.tsx";
import { Time } from "../parts/time.tsx";
import { type AsOf, isReadNow } from "./marking.ts";

interface RowProps {
  /** Whether its thread is open beside the list. */
  isOpen: boolean;
  /** Whether the Tab key reaches this row. It reaches only one row of a list. */
  isCurrent: boolean;
  onFocus(): void;
}

interface ThreadRowProps extends RowProps {
  thread: AsOf<Schemas["Thread"]>;
  /** The address of the inbox, which is not shown among the participants. */
  own: string;
  isSelected: boolean;
  onSelect(): void;
}

export function ThreadRow({ thread, own, isOpen, isCurrent, isSelected, onSelect, onFocus }: ThreadRowProps) {
  const isRead = isReadNow(thread);
  const others = thread.people.filter(({ address }) => address !== own);
  const people = others.length === 0 ? thread.people : others;
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
        <span class="thread-who" title={people.map(({ address }) => address).join(", ")}>
          {!isRead && <span class="unseen">Unread. </span>}
          {people.map(({ address, name }, index) => (
            <Fragment key={address}>
              {index > 0 && ", "}
              {/* Isolated, since a name may have letters that turn the text around it. */}
              <bdi>{name ?? address}</bdi>
            </Fragment>
          ))}
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

/** A message in the results of a search. */
export function FoundRow({ message, isOpen, isCurrent, onFocus }: RowProps & { message: Schemas["ListedMessage"] }) {
  const { direction, fromName, fromAddr, toAddr } = message;
  return (
    <div class={isOpen ? "thread is-found is-open" : "thread is-found"}>
      <a
        href={href(`threads/${message.threadId}`)}
        class="thread-link"
        data-thread={message.threadId}
        tabIndex={isCurrent ? 0 : -1}
        aria-current={isOpen ? "true" : undefined}
        onFocus={onFocus}
      >
        <span class="thread-who" title={direction === "inbound" ? fromAddr : toAddr}>
          {direction === "inbound" ? <bdi>{fromName ?? fromAddr}</bdi> : `to ${toAddr}`}
        </span>
        <span class="thread-when">
          {message.attachments.length > 0 && <Icon name="attachment" />}
          <Time at={message.createdAt} as="short" />
        </span>
        <span class="thread-what">
          <span class="thread-subject">{message.subject || "(no subject)"}</span>
          <span class="thread-preview">{message.bodyText.slice(0, 200)}</span>
        </span>
      </a>
    </div>
  );
}
