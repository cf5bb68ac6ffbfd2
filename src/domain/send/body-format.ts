import { isHtml } from "../body.ts";

/** `auto`: the content decides whether a body is HTML or text (contract §5.4). */
export const bodyFormats = ["auto", "text", "html", "markdown"] as const;
export type BodyFormat = (typeof bodyFormats)[number];

export interface AskedBodies {
  /** Undefined if a message is forwarded without text. */
  body: string | undefined;
  bodyHtml: string | undefined;
  bodyFormat: BodyFormat | undefined;
}

export interface Bodies {
  text: string;
  html: string | undefined;
}

export interface BodyReading {
  /** Passed in: domain may not import mail/html. */
  textOfHtml: (html: string) => string;
  /** The HTML of a Markdown body. Undefined if it took too long to make: the mail then has only text. */
  markdownHtml: string | undefined;
}

/** The text and the HTML of a mail. The text of Markdown is the Markdown itself. */
export function resolveBodies({ body = "", bodyHtml, bodyFormat }: AskedBodies, reading: BodyReading): Bodies {
  if (bodyFormat === "markdown") return { text: body, html: reading.markdownHtml };
  if (bodyFormat === "text") return { text: body, html: undefined };
  if (bodyHtml !== undefined) return { text: body === "" ? reading.textOfHtml(bodyHtml) : body, html: bodyHtml };
  const isWhollyHtml = body !== "" && (bodyFormat === "html" || isHtml(body));
  return isWhollyHtml ? { text: reading.textOfHtml(body), html: body } : { text: body, html: undefined };
}
