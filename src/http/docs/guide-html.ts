import { type Html, trusted } from "./html.ts";

const markdown = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true } as const;

/** Converts one line of Markdown, such as a description, to HTML without a paragraph around it. */
export function inline(text: string | undefined): Html {
  const paragraph = Bun.markdown.html(text ?? "", markdown).trimEnd();
  return trusted(paragraph.startsWith("<p>") ? paragraph.slice("<p>".length, -"</p>".length) : paragraph);
}

export interface Heading {
  /** For example `quickstart/make-an-inbox`. */
  id: string;
  text: string;
}

/**
 * Converts a guide to HTML. Its headings are one level lower, and their ids begin with the guide's name:
 * `#threads/the-read-flag`. A link to another guide becomes a link to its section of the page. A link to a file that is
 * not served becomes plain text.
 */
export function guideHtml(name: string, text: string, isHere: (name: string) => boolean) {
  const headings: Heading[] = [];
  let heading: Heading | undefined;
  const rewriter = new HTMLRewriter()
    .on("h1, h2, h3", {
      element(element) {
        const level = Number(element.tagName.slice(1));
        element.tagName = `h${level + 1}`;
        element.setAttribute("id", level === 1 ? `${name}/top` : `${name}/${element.getAttribute("id")}`);
        element.setAttribute("tabindex", "-1");
        heading = level === 2 ? { id: `${name}/${headingId(element)}`, text: "" } : undefined;
        if (heading) headings.push(heading);
      },
      text(chunk) {
        if (heading) heading.text += plainText(chunk.text);
      },
    })
    .on("a[href]", {
      element(link) {
        const address = addressOnPage(link.getAttribute("href") ?? "", name, isHere);
        if (address === undefined) return void link.removeAndKeepContent();
        link.setAttribute("href", address);
        if (!address.startsWith("#")) link.setAttribute("rel", "noreferrer");
      },
    })
    .on("table", {
      element(table) {
        table.before('<div class="wide" tabindex="0">', { html: true });
        table.after("</div>", { html: true });
      },
    })
    // The service does not serve the pictures of the repository.
    .on("img", { element: (picture) => void picture.remove() })
    .on("pre", { element: (block) => void block.setAttribute("tabindex", "0") });
  return { body: trusted(rewriter.transform(Bun.markdown.html(text, markdown))), headings };
}

function headingId(element: HTMLRewriterTypes.Element): string {
  return (element.getAttribute("id") ?? "").split("/").at(-1) ?? "";
}

/** The address that a link has on the page: `errors.md#limits` becomes `#errors/limits`. Undefined if the file is not served. */
function addressOnPage(href: string, name: string, isHere: (name: string) => boolean): string | undefined {
  if (/^https?:/.test(href)) return href;
  const [file = "", fragment] = href.split("#");
  const guide = file === "" ? name : file.replace(/\.md$/, "");
  if (!isHere(guide)) return undefined;
  return fragment === undefined ? `#${guide}` : `#${guide}/${fragment}`;
}

function plainText(escaped: string): string {
  return escaped.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
