import MarkdownIt, { type Token } from "markdown-it";
import { escapeHtml } from "../html/html.ts";

/**
 * Converts Markdown to HTML: CommonMark with tables and strikethrough, as language models write it. HTML in it is shown as text. A link
 * with a scheme other than http, https or mailto is replaced with its words. A picture with a source other than https or `cid:` is replaced
 * with its description. Tables and code have inline styles, since mail programs ignore style sheets.
 */
export function markdownToHtml(text: string): string {
  converter ??= markdownConverter();
  return converter.render(text).trimEnd();
}

let converter: Converter | undefined;
type Converter = InstanceType<typeof MarkdownIt>;

const linkTarget = /^(?:https?:\/\/|mailto:)[^\s]/i;
const imageSource = /^(?:https:\/\/|cid:)[^\s]/i;

const tableStyle = "border-collapse:collapse;border:1px solid #ccc";
const blockStyle = "background:#f6f8fa;padding:8px;overflow:auto";
const codeStyle = "font-family:monospace";

function markdownConverter(): Converter {
  const markdown = new MarkdownIt("default", { html: false, linkify: false, typographer: false, breaks: false });
  // Targets are checked after parsing, because the parser would show the source of a refused link.
  markdown.validateLink = () => true;
  markdown.core.ruler.push("harmless", (state) => {
    for (const token of state.tokens) {
      if (token.type === "table_open") {
        // The old attributes draw the borders of all cells. With styles, each cell would need one.
        token.attrs = [
          ["border", "1"],
          ["cellpadding", "6"],
          ["style", tableStyle],
        ];
      } else if (token.type === "th_open" || token.type === "td_open") alignByAttribute(token);
      if (token.children !== null) token.children = harmless(token.children, (image) => description(image, state.env));
    }
  });
  const { renderer } = markdown;
  const { rules } = renderer;
  rules.fence = (tokens, index) => codeBlock(tokens[index]);
  rules.code_block = rules.fence;
  rules.code_inline = (tokens, index) =>
    `<code style="${codeStyle}">${escapeHtml(tokens[index]?.content ?? "")}</code>`;
  return markdown;

  function description(image: Token, env: Parameters<typeof renderer.renderInlineAsText>[2]): string {
    return renderer.renderInlineAsText(image.children ?? [], markdown.options, env);
  }
}

/** The tokens of a line without forbidden links and pictures. One flag for an open link is enough, because links do not nest. */
function harmless(tokens: readonly Token[], describe: (image: Token) => string): Token[] {
  let isInLink = true;
  return tokens.flatMap((token) => {
    if (token.type === "link_open") {
      isInLink = linkTarget.test(String(token.attrGet("href")));
      return isInLink ? [token] : [];
    }
    if (token.type === "link_close") return isInLink ? [token] : [];
    if (token.type !== "image" || imageSource.test(String(token.attrGet("src")))) return [token];
    return [asWords(token, describe(token))];
  });
}

/** Replaces a picture with its description. */
function asWords(image: Token, words: string): Token {
  image.type = "text";
  image.content = words;
  image.tag = "";
  image.attrs = null;
  image.children = null;
  return image;
}

function alignByAttribute(cell: Token): void {
  const [, align] = /^text-align:(\w+)$/.exec(String(cell.attrGet("style"))) ?? [];
  cell.attrs = align === undefined ? null : [["align", align]];
}

function codeBlock(token: Token | undefined): string {
  return `<pre style="${blockStyle}"><code style="${codeStyle}">${escapeHtml(token?.content ?? "")}</code></pre>\n`;
}
