import { element, the } from "./elements.ts";
import { around, type Entry, find } from "./search-index.ts";
import { isOneGuide } from "./views.ts";

const mostShown = 14;

/**
 * The search over guides, operations and fields: `/` opens it, arrows and Enter choose a result. The page of one guide
 * fetches the whole page for it.
 */
export function makeSearch(): void {
  const dialog = the<HTMLDialogElement>("#finder");
  const input = the<HTMLInputElement>("#finder-query");
  const list = the("#finder-results");
  let entries: Promise<Entry[]> | undefined;
  let chosen = 0;

  function open(): void {
    entries ??= (isOneGuide() ? wholePage() : Promise.resolve(document)).then(entriesOf);
    if (!dialog.open) dialog.showModal();
    input.select();
    void draw();
  }

  async function draw(): Promise<void> {
    const all = await entries?.catch(() => undefined);
    // The next opening tries again.
    if (all === undefined) entries = undefined;
    const found = find(all ?? [], input.value, mostShown);
    list.replaceChildren(...found.map((entry, index) => resultItem(entry, index, input.value)));
    if (found.length === 0 && input.value.trim() !== "")
      list.append(
        element("li", { class: "none" }, all === undefined ? "The server did not answer." : "Nothing found."),
      );
    choose(0);
  }

  function choose(index: number): void {
    const items = Array.from(list.querySelectorAll("[role=option]"));
    chosen = Math.min(Math.max(index, 0), items.length - 1);
    for (const [number, item] of items.entries()) item.setAttribute("aria-selected", String(number === chosen));
    items[chosen]?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", items[chosen]?.id ?? "");
  }

  the("#search").addEventListener("click", open);
  input.addEventListener("input", () => void draw());
  document.addEventListener("keydown", (event) => {
    const isTyping = (event.target as Element).matches?.("input, textarea, select");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    open();
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      choose(chosen + step);
    }
    if (event.key === "Enter") list.querySelector<HTMLElement>("[aria-selected=true] a")?.click();
  });
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || (target as Element).closest("a")) dialog.close();
  });
}

function resultItem({ title, where, href, text }: Entry, index: number, query: string): HTMLElement {
  return element(
    "li",
    { role: "option", id: `found-${index}` },
    element(
      "a",
      { href, tabindex: "-1" },
      element("strong", {}, title),
      element("span", { class: "where" }, where),
      element("span", { class: "text" }, around(text, query)),
    ),
  );
}

async function wholePage(): Promise<Document> {
  const answer = await fetch(document.baseURI);
  if (!answer.ok) throw new Error(`Cannot fetch the documentation: ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

function entriesOf(page: Document): Entry[] {
  const main = the("#content", page);
  const headings = Array.from(main.querySelectorAll<HTMLElement>(".guide :is(h2, h3, h4)[id]"), (heading) => ({
    title: textIn(heading),
    where: textIn(heading.closest(".guide")?.querySelector("h2")),
    href: `#${heading.id}`,
    text: textUnder(heading),
    weight: heading.tagName === "H2" ? 12 : 6,
  }));
  const articles = Array.from(main.querySelectorAll<HTMLElement>("article[id]"), (article) => ({
    title: textIn(article.querySelector("h3")),
    where: textIn(article.querySelector(".route")) || textIn(article.closest(".view")?.querySelector("h2")),
    href: `#${article.id}`,
    text: textIn(article.querySelector(".about > p:not(.route), :scope > p")),
    weight: 10,
  }));
  const fields = Array.from(main.querySelectorAll<HTMLElement>("article[id] [data-field]"), (field) => {
    const article = field.closest("article");
    return {
      title: textIn(field),
      where: textIn(article?.querySelector("h3")),
      href: `#${article?.id}`,
      text: textIn(field.closest("li")?.querySelector("p:not(.field)")),
      weight: 0,
    };
  });
  const known = new Map([...headings, ...articles, ...fields].map((entry) => [`${entry.href} ${entry.title}`, entry]));
  return [...known.values()];
}

function textUnder(heading: Element): string {
  const words: string[] = [];
  for (let next = heading.nextElementSibling; next && !/^H\d$/.test(next.tagName); next = next.nextElementSibling) {
    words.push(textIn(next));
  }
  return words.join(" ");
}

function textIn(node: Element | null | undefined): string {
  return (node?.textContent ?? "").replaceAll(/\s+/g, " ").trim();
}
