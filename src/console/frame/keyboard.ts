import { useEffect, useLayoutEffect } from "preact/hooks";
import { go, href, place } from "../address.ts";
import { may } from "../session.ts";
import { isHelpOpen } from "./help.tsx";
import { hasShortcuts } from "./theme.ts";

type Act = () => void;

const ofScreens = new Set<ReadonlyMap<string, Act>>();

/** While a screen is shown, what its keys do. Where two know a key the last that came decides. */
export function useKeys(keys: Readonly<Record<string, Act>>): void {
  // As soon as it is drawn, not when there is time for it: the next key may come at once.
  useLayoutEffect(() => {
    const told = new Map(Object.entries(keys));
    ofScreens.add(told);
    return () => void ofScreens.delete(told);
  });
}

const places: Readonly<Record<string, string>> = { i: "inboxes", o: "outbox", e: "events", h: "", w: "webhooks" };

/**
 * Single letters, never in a field, never with a modifier: those, the arrows and the Page keys stay the browser's. Enter belongs to
 * whatever it presses where the focus is.
 */
export function useShortcuts(): void {
  useEffect(() => {
    let isGoing = false;
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
      if (isField(event.target) || document.querySelector("dialog[open]") !== null) return;
      if (event.key === "Enter" && isPressable(event.target)) return;
      if (!hasShortcuts.value && event.key !== "Escape") return;
      const act = isGoing ? goTo(event.key) : actOf(event.key);
      isGoing = !isGoing && event.key === "g";
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}

function actOf(key: string): Act | undefined {
  const ofScreen = [...ofScreens].findLast((keys) => keys.has(key))?.get(key);
  return ofScreen ?? ofAll[key];
}

const ofAll: Readonly<Record<string, Act | undefined>> = {
  c: () => {
    if (may("send")) go(href("compose", { inbox: inboxHere() }));
  },
  "?": () => {
    isHelpOpen.value = true;
  },
};

function goTo(key: string): Act | undefined {
  const path = places[key];
  return path === undefined ? undefined : () => go(href(path));
}

function inboxHere(): string | undefined {
  const [kind, id] = place.value.path.split("/");
  return kind === "inboxes" ? id : undefined;
}

function isField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox";
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

function isPressable(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("a, button, summary, label, input") !== null;
}
