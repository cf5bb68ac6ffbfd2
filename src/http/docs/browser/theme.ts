import { kept, the } from "./elements.ts";

const themes = ["system", "light", "dark"] as const;

/** The system's theme, until somebody chooses another. */
export function makeThemeButton(): void {
  const button = the("#theme");
  const stored = kept(() => localStorage, "inboxd-theme");
  const put = (theme: string) => {
    document.documentElement.dataset.theme = theme;
    button.setAttribute("aria-label", `Theme: ${theme}`);
    button.title = `Theme: ${theme}`;
  };
  const now = () => themes.find((theme) => theme === stored.read()) ?? "system";
  put(now());
  button.addEventListener("click", () => {
    stored.write(themes[(themes.indexOf(now()) + 1) % themes.length] ?? "system");
    put(now());
  });
}
