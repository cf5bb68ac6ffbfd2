import { type HtmlWalk, htmlWindow, walkHtml } from "../mail/html/html-walk.ts";
import { textOfSeenHtml } from "../mail/html/seen-html.ts";
import { cutHtml } from "./reply-html.ts";
import { newTextOf, type ReplyFacts } from "./reply-text.ts";

/** What a message says, and whether it answers another. */
export interface MessageContent extends ReplyFacts {
  bodyText: string;
  bodyHtml: string | undefined;
}

/** What of it is new. */
export interface NewContent {
  extractedText: string;
  /** Undefined where there is no HTML. */
  extractedHtml: string | undefined;
}

/** What is new in a message, whose HTML may have been walked through already. Where the rules for text take nothing away and those for HTML do, the text is that of the HTML. */
export function newContentOf({ bodyText, bodyHtml, isReply }: MessageContent, walked?: HtmlWalk): NewContent {
  const extractedText = newTextOf(bodyText, { isReply });
  if (bodyHtml === undefined) return { extractedText, extractedHtml: undefined };
  const cut = cutHtml(bodyHtml, walked ?? walkHtml(bodyHtml), { isReply });
  // Of longer HTML only the beginning was looked at, and words behind it would be lost.
  const isFoundInHtmlAlone = cut !== undefined && extractedText === bodyText && cut.html.length <= htmlWindow;
  const extractedHtml = cut?.html ?? bodyHtml;
  if (!isFoundInHtmlAlone) return { extractedText, extractedHtml };
  // A text alternative has paragraphs, and takes longer to make than lines.
  const text = cut.html.length <= longestLaidOut ? textOfSeenHtml(cut.html) : cut.text();
  return { extractedText: text === "" ? extractedText : newTextOf(text, { isReply }), extractedHtml };
}

const longestLaidOut = 8 * 1024;
