import { type ComponentChild, type ComponentChildren, createElement } from "preact";
import { inboxd } from "../api.ts";
import { LoadState } from "../parts/load-state.tsx";
import { useLoaded } from "../parts/loaded.ts";

/** The mail as its reader sees it, by what the service makes of the Markdown. */
export function MarkdownPreview({ body }: { body: string }) {
  const made = useLoaded(
    async () => (body.trim() === "" ? { html: null } : inboxd.messages.markdown({ body })),
    [body],
  );
  return (
    <section class="card markdown-preview" aria-label="Preview">
      <LoadState of={made} />
      {made.value && (made.value.html === null ? <pre>{body}</pre> : nodesOf(made.value.html))}
    </section>
  );
}

/** The elements in the HTML of Markdown, which the service makes well-formed. Of any other only its words are shown. */
const shown: ReadonlySet<string> = new Set(
  "p h1 h2 h3 h4 h5 h6 em strong s a code pre blockquote ul ol li hr br table thead tbody tr th td".split(" "),
);
const empty: ReadonlySet<string> = new Set(["hr", "br"]);
const piece = /<(\/?)([a-z0-9]{1,10})([^<>]{0,4000})>|[^<]+/g;

/** Makes nodes of the HTML, since the page may not parse HTML from a text (its policy demands trusted types). */
function nodesOf(html: string): ComponentChildren {
  const top: ComponentChild[] = [];
  const open: { tag: string; props: object; children: ComponentChild[] }[] = [];
  const add = (node: ComponentChild) => void (open.at(-1)?.children ?? top).push(node);
  for (const [text, slash, tag, attributes = ""] of html.matchAll(piece)) {
    if (tag === undefined) add(decoded(text));
    else if (tag === "img") add(`[${attributeOf(attributes, "alt") ?? ""}]`);
    else if (!shown.has(tag)) continue;
    else if (empty.has(tag)) add(createElement(tag, null));
    else if (slash !== "") {
      const closed = open.pop();
      if (closed) add(createElement(closed.tag, closed.props, ...closed.children));
    } else open.push({ tag, props: propsOf(tag, attributes), children: [] });
  }
  return top;
}

function propsOf(tag: string, attributes: string): object {
  const href = attributeOf(attributes, "href") ?? "";
  if (tag === "a" && /^(?:https?:|mailto:)/i.test(href)) return { href, target: "_blank", rel: "noreferrer" };
  const align = attributeOf(attributes, "align");
  const start = attributeOf(attributes, "start");
  return { ...(align !== undefined && { align }), ...(start !== undefined && { start }) };
}

function attributeOf(attributes: string, name: string): string | undefined {
  const value = attributes.split(` ${name}="`)[1]?.split('"', 1)[0];
  return value === undefined ? undefined : decoded(value);
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };

function decoded(text: string): string {
  return text.replace(/&(amp|lt|gt|quot);/g, (_, name: string) => entities[name] ?? "");
}
