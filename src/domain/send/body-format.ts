import { isHtml } from "../body.ts";

/** `auto`: HTML is told from text by what it says (contract §5.4). */
export const bodyFormats = ["auto", "text", "html", "markdown"] as const;
export type BodyFormat = (typeof bodyFormats)[number];

export interface AskedBodies {
  /** Left out where something is only forwarded. */
  body: string | undefined;
  bodyHtml: string | undefined;
  bodyFormat: BodyFormat | undefined;
}

export interface Bodies {
  text: string;
  html: string | undefined;
}

export interface BodyReading {
  /** Given, since what reads HTML stands above the rules. */
  textOfHtml: (html: string) => string;
  /** What has been made of the body, where it is Markdown; undefined where that took too long, and then it goes as text alone. */
  markdownHtml: string | undefined;
}

/** The two versions of what the caller says. The text of Markdown is the Markdown as it was written. */
export function resolveBodies({ body = "", bodyHtml, bodyFormat }: AskedBodies, reading: BodyReading): Bodies {
  if (bodyFormat === "markdown") return { text: body, html: reading.markdownHtml };
  if (bodyFormat === "text") return { text: body, html: undefined };
  if (bodyHtml !== undefined) return { text: body === "" ? reading.textOfHtml(bodyHtml) : body, html: bodyHtml };
  const isWhollyHtml = body !== "" && (bodyFormat === "html" || isHtml(body));
  return isWhollyHtml ? { text: reading.textOfHtml(body), html: body } : { text: body, html: undefined };
}
