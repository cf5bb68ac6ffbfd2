import { useLayoutEffect } from "preact/hooks";
import { go, href } from "../address.ts";
import { may } from "../session.ts";
import { openGoTo } from "./go-to.tsx";
import { isHelpOpen } from "./help.tsx";
import { allScreens } from "./screens.ts";
import { hasShortcuts, isMac } from "./theme.ts";

type Action = () => void;

// The hooks have layout effects, because `useEffect` might run only after the next key press.
const screenKeys = new Set<ReadonlyMap<string, Action>>();

/**
 * Sets the shortcuts of a component while it is mounted. If two components use the same key, the one that set it later
 * wins.
 */
export function useKeys(keys: Readonly<Record<string, Action>>): void {
  useLayoutEffect(() => {
    const added = new Map(Object.entries(keys));
    screenKeys.add(added);
    return () => void screenKeys.delete(added);
  });
}

/** `c` writes from this inbox while the component is mounted. */
export function useWriteFrom(inbox: string | undefined): void {
  useKeys({
    c: () => {
      if (may("send")) go(href("compose", { inbox }));
    },
  });
}

/**
 * Handles shortcuts: single keys, never in a field and never with a modifier. The browser keeps the arrow and Page keys.
 * Enter keeps its meaning on links and buttons.
 */
export function useShortcuts(): void {
  useLayoutEffect(() => {
    let isGoing = false;
    const pressed = (event: KeyboardEvent) => {
      if (isGoToKey(event) && document.querySelector("dialog[open]") === null) {
        event.preventDefault();
        openGoTo();
        return;
      }
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
      if (isField(event.target) || document.querySelector("dialog[open]") !== null) return;
      if (event.key === "Enter" && isPressable(event.target)) return;
      if (!hasShortcuts.value && event.key !== "Escape") return;
      const action = isGoing ? goTo(event.key) : actionOf(event.key);
      isGoing = !isGoing && event.key === "g";
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}

/** Ctrl K, on a Mac ⌘ K: there Ctrl K deletes to the end of a field. */
function isGoToKey({ key, metaKey, ctrlKey, altKey, shiftKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === "k" && (isMac ? metaKey && !ctrlKey : ctrlKey && !metaKey) && !altKey && !shiftKey;
}

function actionOf(key: string): Action | undefined {
  const ofScreen = [...screenKeys].findLast((keys) => keys.has(key))?.get(key);
  return ofScreen ?? globalKeys[key];
}

const globalKeys: Readonly<Record<string, Action | undefined>> = {
  c: () => {
    if (may("send")) go(href("compose"));
  },
  "?": () => {
    isHelpOpen.value = true;
  },
};

function goTo(key: string): Action | undefined {
  const screen = allScreens.find(({ shortcut }) => shortcut === key);
  return screen && (() => go(href(screen.path)));
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox";
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

function isPressable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a, button, summary, label, input") !== null;
}
