import { signal } from "@preact/signals";

/** Where the service is: this script lies in `console/assets/` of it, also under a proxy's prefix. */
export const service = new URL("../..", import.meta.url);
const house = new URL("..", import.meta.url);

/** Where one is in the console, without what stands in front of it. */
export interface Place {
  /** As `inboxes/inb_1`; empty is the overview. */
  path: string;
  query: URLSearchParams;
}

export const place = signal<Place>(placeHere());

function placeHere(): Place {
  const { pathname, search } = location;
  return { path: pathname.slice(house.pathname.length).replace(/\/$/, ""), query: new URLSearchParams(search) };
}

/** What is undefined or empty is left out. */
export function href(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) words.set(name, value);
  return `${house.pathname}${path}${words.size === 0 ? "" : `?${words}`}`;
}

/** An address of the API, for what a browser opens by itself. */
export function apiHref(path: string): string {
  return `${service.pathname}${path}`;
}

/** With `isCorrection` the way back leads past the address that one comes from. */
export function go(address: string, isCorrection = false): void {
  if (isCorrection) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  place.value = placeHere();
}

/** Links within the console load no page. What opens apart, is downloaded, or leads elsewhere stays the browser's. */
export function followLinks(): void {
  addEventListener("popstate", () => {
    place.value = placeHere();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href]") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download")) return;
    if (link.origin !== house.origin || !link.pathname.startsWith(house.pathname) || link.hash !== "") return;
    event.preventDefault();
    go(link.href);
  });
}
