import { href } from "../address.ts";
import type { Schemas } from "../api.ts";
import { Icon } from "../parts/icon.tsx";
import { Time } from "../parts/time.tsx";

interface FoundRowProps {
  message: Schemas["ListedMessage"];
  isOpen: boolean;
  isCurrent: boolean;
  onFocus(): void;
}

/** A message that a search has found. */
export function FoundRow({ message, isOpen, isCurrent, onFocus }: FoundRowProps) {
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
        <span class="thread-who">{direction === "inbound" ? (fromName ?? fromAddr) : `to ${toAddr}`}</span>
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
