import { effect, signal } from "@preact/signals";

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

export type Theme = "system" | "light" | "dark";

const next: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };

export const theme = signal<Theme>(kept("theme", ["light", "dark"] as const) ?? "system");

/** Whether single-key shortcuts are on. Users must be able to turn them off (WCAG 2.1.4). */
export const hasShortcuts = signal(kept("shortcuts", ["off"] as const) === undefined);

export function changeTheme(): void {
  theme.value = next[theme.value];
}

export function keepChoices(): void {
  effect(() => {
    if (theme.value === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme.value;
    keep("theme", theme.value === "system" ? undefined : theme.value);
  });
  effect(() => keep("shortcuts", hasShortcuts.value ? undefined : "off"));
}

function kept<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
  try {
    const value = localStorage.getItem(`inboxd-${name}`);
    return words.find((word) => word === value);
  } catch {
    return undefined;
  }
}

/** Stores a choice. Without storage, the defaults apply after a reload. */
function keep(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(`inboxd-${name}`);
    else localStorage.setItem(`inboxd-${name}`, value);
  } catch {
    // The browser may not allow storage.
  }
}
