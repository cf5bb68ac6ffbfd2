import { kept, the } from "./elements.ts";

/** Whether this is the page of one guide, whose links begin at the address of the whole page. */
export function isOneGuide(): boolean {
  return document.querySelector("base") !== null;
}

/** Shows the view that the address names, and marks it in the contents. The page of one guide is one view. */
export function showViews(): void {
  document.documentElement.classList.add("viewing");
  if (isOneGuide()) return;
  const views = Array.from(document.querySelectorAll<HTMLElement>(".view"));
  const links = Array.from(document.querySelectorAll<HTMLAnchorElement>("#contents a"));
  const title = document.title;

  function show(isMove: boolean): void {
    const target = targetOf(location.hash);
    const view = target.closest<HTMLElement>(".view") ?? target;
    for (const one of views) one.hidden = one !== view;
    const id = target.id;
    for (const link of links) {
      const names = [`#${id}`, `#${view.id}`];
      if (link.hash === names[0]) link.setAttribute("aria-current", "true");
      else if (link.hash === names[1]) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = view.id === "start" ? title : `${headingOf(target)} · inboxd`;
    links.find((link) => link.hasAttribute("aria-current"))?.scrollIntoView({ block: "nearest" });
    if (target === view) scrollTo(0, 0);
    else target.scrollIntoView();
    if (isMove) target.focus({ preventScroll: true });
  }

  addEventListener("hashchange", () => show(true));
  show(false);
}

function targetOf(hash: string): HTMLElement {
  let id = hash.slice(1);
  try {
    id = decodeURIComponent(id);
  } catch {}
  return (
    (id === "" ? null : document.querySelector("main")?.querySelector<HTMLElement>(`#${CSS.escape(id)}`)) ??
    the("#start")
  );
}

function headingOf(target: HTMLElement): string {
  const heading = /^H\d$/.test(target.tagName) ? target : target.querySelector("h2, h3");
  return heading?.textContent ?? "";
}

/** Makes the contents a drawer over the page on small screens. */
export function makeDrawer(): void {
  const button = the("#menu");
  const drawer = the("#contents");
  const open = (isOpen: boolean) => {
    button.setAttribute("aria-expanded", String(isOpen));
    document.documentElement.classList.toggle("drawer-open", isOpen);
    if (isOpen) drawer.querySelector("a")?.focus();
  };
  button.addEventListener("click", () => open(button.getAttribute("aria-expanded") !== "true"));
  drawer.addEventListener("click", ({ target }) => {
    if ((target as Element).closest("a")) open(false);
  });
  the("#content").addEventListener("click", () => open(false));
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || button.getAttribute("aria-expanded") !== "true") return;
    open(false);
    button.focus();
  });
}

const themes = ["system", "light", "dark"] as const;

/** The button that changes the theme. Until it is pressed, the page has the theme of the system. */
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
