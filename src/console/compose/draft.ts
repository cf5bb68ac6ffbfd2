import { useRef, useState } from "preact/hooks";
import { newIdempotencyKey } from "../machine.ts";

/** What is being written, kept in this tab: over a look elsewhere, a reload, and a session that ends. */
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
  /** From the first try on it stays with the draft. */
  keep(): string;
  change(): void;
}

/** Says which mail a draft is, in this tab: a double click, and a second try, also after a reload, are one mail. */
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

/** A browser that keeps nothing, or has no room, loses the draft with the page. */
function write(name: string, text: string): void {
  try {
    if (text === "") sessionStorage.removeItem(`inboxd ${name}`);
    else sessionStorage.setItem(`inboxd ${name}`, text);
  } catch {
    // As it is.
  }
}
