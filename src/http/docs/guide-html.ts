import { type Html, trusted } from "./html.ts";

const markdown = { headings: { ids: true }, noHtmlBlocks: true, noHtmlSpans: true } as const;

/** Converts one line of Markdown, such as a description, to HTML without a paragraph around it. */
export function inline(text: string | undefined): Html {
  const paragraph = Bun.markdown.html(text ?? "", markdown).trimEnd();
  return trusted(paragraph.startsWith("<p>") ? paragraph.slice("<p>".length, -"</p>".length) : paragraph);
}

export interface Heading {
  /** For example `make-an-inbox`. */
  section: string;
  text: string;
}

/** Where the parts of guides are. */
export interface Places {
  /** Whether the guide is served. */
  has(guide: string): boolean;
  /** The address of a guide, or of the section with this id. */
  linkTo(guide: string, section?: string): string;
  /** The id of a section of the guide; of its beginning without `section`. */
  idOf(guide: string, section?: string): string;
}

/**
 * Converts a guide to HTML. Its headings are one level lower. A link to another guide becomes a link to its place. A
 * link to a file that is not served becomes plain text.
 */
export function guideHtml(name: string, text: string, places: Places) {
  const headings: Heading[] = [];
  let heading: Heading | undefined;
  const rewriter = new HTMLRewriter()
    .on("h1, h2, h3", {
      element(element) {
        const level = Number(element.tagName.slice(1));
        element.tagName = `h${level + 1}`;
        const section = element.getAttribute("id") ?? "";
        element.setAttribute("id", level === 1 ? places.idOf(name) : places.idOf(name, section));
        element.setAttribute("tabindex", "-1");
        heading = level === 2 ? { section, text: "" } : undefined;
        if (heading) headings.push(heading);
      },
      text(chunk) {
        if (heading) heading.text += plainText(chunk.text);
      },
    })
    .on("a[href]", {
      element(link) {
        const address = addressIn(link.getAttribute("href") ?? "", name, places);
        if (address === undefined) return void link.removeAndKeepContent();
        link.setAttribute("href", address);
        if (/^https?:/.test(address)) link.setAttribute("rel", "noreferrer");
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

/** The address of a link of a guide, such as `errors.md#limits`. Undefined if the file is not served. */
function addressIn(href: string, name: string, places: Places): string | undefined {
  if (/^https?:/.test(href)) return href;
  const [file = "", section] = href.split("#");
  const guide = file === "" ? name : file.replace(/\.md$/, "");
  return places.has(guide) ? places.linkTo(guide, section) : undefined;
}

function plainText(escaped: string): string {
  return escaped.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
}
