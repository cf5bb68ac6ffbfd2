import { useRef, useState } from "preact/hooks";
import { newIdempotencyKey } from "../machine.ts";

/** A text that is kept in this tab: through navigation, a reload and the end of the session. */
export function useDraft(name: string, start = ""): [text: string, change: (text: string) => void] {
  const [text, setText] = useState(() => read(name) ?? start);
  return [
    text,
    (next) => {
      setText(next);
      write(name, next);
    },
  ];
}

export function clearDraft(...names: readonly string[]): void {
  for (const name of names) write(name, "");
}

export interface DraftKey {
  /** Stores the key in this tab and returns it. Called at each try to send. */
  keep(): string;
  change(): void;
}

/** The idempotency key of a draft in this tab: a double click or another try, even after a reload, sends one mail. */
export function useDraftKey(draft: string): DraftKey {
  const name = `${draft} key`;
  const [first] = useState(() => read(name) ?? newIdempotencyKey());
  const key = useRef(first);
  return {
    keep() {
      write(name, key.current);
      return key.current;
    },
    change() {
      key.current = newIdempotencyKey();
      clearDraft(name);
    },
  };
}

function read(name: string): string | undefined {
  try {
    return sessionStorage.getItem(`inboxd ${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a text. Without storage, or if it is full, the draft is lost with the page. */
function write(name: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(`inboxd ${name}`);
    else sessionStorage.setItem(`inboxd ${name}`, text);
  } catch {
    // The browser may not allow storage.
  }
}
