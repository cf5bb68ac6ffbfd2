import { Fragment } from "preact";
import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { Icon } from "../parts/icon.tsx";
import { Time } from "../parts/time.tsx";
import { excerptOf, type Hits, Marked } from "./found.tsx";
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
  own: readonly string[];
  isSelected: boolean;
  onSelect(): void;
}

export function ThreadRow({ thread, own, isOpen, isCurrent, isSelected, onSelect, onFocus }: ThreadRowProps) {
  const isRead = isReadNow(thread);
  const others = thread.people.filter(({ address }) => !own.includes(address));
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
          {thread.labels.map((label) => (
            <span key={label} class="thread-label">
              {label}
            </span>
          ))}
          <span class="thread-preview">{thread.preview}</span>
        </span>
      </a>
    </div>
  );
}

interface FoundRowProps extends RowProps {
  message: Schemas["ListedMessage"];
  hits: Hits;
  /** Whether messages of other inboxes are found too, so that each row names its own. */
  namesInbox: boolean;
}

/** A message in the results of a search. */
export function FoundRow({ message, hits, namesInbox, isOpen, isCurrent, onFocus }: FoundRowProps) {
  const { direction, fromName, fromAddr, toAddr } = message;
  const isInbound = direction === "inbound";
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
        <span class="thread-who" title={isInbound ? fromAddr : toAddr}>
          {!isInbound && "to "}
          <bdi>
            <Marked text={isInbound ? (fromName ?? fromAddr) : toAddr} hits={hits.who} />
          </bdi>
          {namesInbox && <span class="thread-inbox">{isInbound ? toAddr : fromAddr}</span>}
        </span>
        <span class="thread-when">
          {message.attachments.length > 0 && <Icon name="attachment" />}
          <Time at={message.createdAt} as="short" />
        </span>
        <span class="thread-what">
          <span class="thread-subject">
            <Marked text={message.subject || "(no subject)"} hits={hits.subject} />
          </span>
          <span class="thread-preview">
            <Marked text={excerptOf(message.bodyText, hits.text)} hits={hits.text} />
          </span>
        </span>
      </a>
    </div>
  );
}
