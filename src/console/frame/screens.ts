import type { IconName } from "../parts/icon.tsx";
import { may, type Right } from "../session.ts";

/** A screen of the navigation. */
export interface ScreenEntry {
  /** The first part of its address; empty for the overview. */
  path: string;
  name: string;
  icon: IconName;
  /** The right that a key needs to open it. Without one every key may. */
  right?: Right;
  /** The key after `g` that opens it. */
  shortcut?: string;
  /** Further addresses at which it is the current one, by their first part. */
  also?: readonly string[];
}

/** The first group is for mail, the second for operating it, the third for the account. */
const screenGroups: readonly (readonly ScreenEntry[])[] = [
  [
    { path: "", name: "Overview", icon: "overview", right: "read", shortcut: "h" },
    { path: "inboxes", name: "Inboxes", icon: "inboxes", shortcut: "i", also: ["threads", "messages"] },
  ],
  [
    { path: "drafts", name: "Drafts", icon: "compose", right: "read" },
    { path: "approvals", name: "Approvals", icon: "done", right: "read" },
    { path: "outbox", name: "Outbox", icon: "outbox", right: "read", shortcut: "o" },
    { path: "events", name: "Events", icon: "events", right: "read", shortcut: "e" },
    { path: "webhooks", name: "Webhooks", icon: "webhooks", right: "account", shortcut: "w" },
    { path: "suppressions", name: "Suppressions", icon: "suppressions", right: "read" },
    { path: "rules", name: "Rules", icon: "rules", right: "manage" },
    { path: "quarantine", name: "Quarantine", icon: "quarantine", right: "manage" },
  ],
  [
    { path: "domains", name: "Domains", icon: "domains", right: "account", shortcut: "d" },
    { path: "keys", name: "Keys", icon: "keys", right: "manage", shortcut: "k" },
    { path: "usage", name: "Usage", icon: "usage", right: "read", shortcut: "u" },
    { path: "audit", name: "Audit", icon: "audit", right: "account", shortcut: "a" },
  ],
];

export const allScreens: readonly ScreenEntry[] = screenGroups.flat();

/** The screens that the session's key may open, in their groups. */
export function offeredScreens(): readonly (readonly ScreenEntry[])[] {
  return screenGroups.map((group) => group.filter(mayOpen)).filter((group) => group.length > 0);
}

export function mayOpen({ right }: ScreenEntry): boolean {
  return right === undefined || may(right);
}
