import { signal } from "@preact/signals";

/** The URL of the service: this script is in its `console/assets/`, also behind a proxy with a path prefix. */
export const service = new URL("../..", import.meta.url);
const root = new URL("..", import.meta.url);

/** The part of the address that selects the screen. */
export interface Route {
  /** For example `inboxes/inb_1`; empty for the overview. */
  path: string;
  query: URLSearchParams;
}

export const route = signal<Route>(routeAt(location));

function routeAt({ pathname, search }: Pick<Location, "pathname" | "search">): Route {
  return { path: pathname.slice(root.pathname.length).replace(/\/$/, ""), query: new URLSearchParams(search) };
}

/** The address of a screen. Leaves out undefined and empty parameters. */
export function href(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value);
  return `${root.pathname}${path}${parameters.size === 0 ? "" : `?${parameters}`}`;
}

/** An address of the API, for links and frames. */
export function apiHref(path: string): string {
  return `${service.pathname}${path}`;
}

/** Opens a screen. `isReplacement` removes the current address from the history. */
export function go(address: string, isReplacement = false): void {
  if (isReplacement) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  route.value = routeAt(location);
}

/**
 * Makes links within the console load no page. Downloads, external links and new tabs stay with the browser. Pointing at
 * a link, or moving the focus to it, prepares what it leads to.
 */
export function followLinks(prepare: (at: Route) => void): void {
  addEventListener("popstate", () => {
    route.value = routeAt(location);
  });
  for (const sign of ["pointerover", "focusin"]) {
    document.addEventListener(sign, ({ target }) => {
      const link = ownLink(target);
      if (link !== undefined) prepare(routeAt(link));
    });
  }
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = ownLink(event.target);
    if (link === undefined) return;
    event.preventDefault();
    go(link.href);
  });
}

/** The link to a screen that contains an element. */
function ownLink(element: EventTarget | null): HTMLAnchorElement | undefined {
  const link = element instanceof Element ? element.closest<HTMLAnchorElement>("a[href]") : null;
  if (link === null || link.target !== "" || link.hasAttribute("download") || link.hash !== "") return undefined;
  return link.origin === root.origin && link.pathname.startsWith(root.pathname) ? link : undefined;
}
