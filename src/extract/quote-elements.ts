import type { HtmlElement } from "../mail/html/html-element.ts";

/** The role that a mail program gives to an element. */
export type QuoteMark =
  /** It contains a quote, and in some programs its attribution. */
  | "quote"
  /** It begins a quote or a forwarded mail that reaches to the end. */
  | "rest"
  /** It contains the attribution, and the next element is the quote. */
  | "attribution"
  | "signature";

/** The mark in the element's name, class or id; undefined for nearly all elements. */
export function quoteMarkOf({ name, attributes }: HtmlElement): QuoteMark | undefined {
  if (name === "blockquote" && attributes.get("type")?.toLowerCase() === "cite") return "quote";
  const id = attributes.get("id");
  if (id !== undefined) {
    const mark = marksOfIds.get(id.toLowerCase().replace(pasted, "")) ?? (yahooQuote.test(id) ? "quote" : undefined);
    if (mark !== undefined) return mark;
  }
  if (attributes.get("data-smartmail") === "gmail_signature") return "signature";
  const classes = attributes.get("class");
  if (classes === undefined) return undefined;
  for (const written of classes.slice(0, 200).toLowerCase().split(/\s/, 10)) {
    const mark = marksOfClasses.get(written.replace(pasted, "")) ?? (yahooQuote.test(written) ? "quote" : undefined);
    if (mark !== undefined) return mark;
  }
  return undefined;
}

/** Matches the prefix `x_`, which Outlook adds to the ids and classes in a quote. */
const pasted = /^(?:x_){1,5}/;

/** Matches the name that Yahoo gives to a quote: `yahoo_quoted_0123456789`, `ydpabc123yahoo_quoted`. */
const yahooQuote = /^(?:ydp[a-z0-9]{1,20})?yahoo_quoted/i;

const marks = (mark: QuoteMark, names: string): [string, QuoteMark][] => names.split(" ").map((name) => [name, mark]);

const marksOfClasses: ReadonlyMap<string, QuoteMark> = new Map([
  ...marks("quote", "gmail_quote gmail_quote_container protonmail_quote tutanota_quote zmail_extra freebirdformquote"),
  ...marks(
    "quote",
    "ms-outlook-mobile-reference-message hm_quote mailru-quote quoted-mail front-blockquote mcntmcntmcntquote",
  ),
  ...marks("attribution", "moz-cite-prefix gmail_attr"),
  ...marks("signature", "gmail_signature gmail_signature_prefix moz-signature protonmail_signature_block"),
]);

const marksOfIds: ReadonlyMap<string, QuoteMark> = new Map([
  ...marks("quote", "isreplycontent olk_src_body_section"),
  ...marks("rest", "divrplyfwdmsg appendonsend zwchr mail-editor-reference-message-container stopspelling"),
  ...marks("attribution", "reply-intro replyintro"),
  ...marks(
    "signature",
    "signature ms-outlook-mobile-signature applemailsignature ymail_android_signature composer_signature",
  ),
]);
