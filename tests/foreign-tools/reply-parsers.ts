import EmailReplyParser from "email-reply-parser";
import * as planer from "planer";

/** What two libraries that cut replies make of a text: they are held against the same collection as our own rules. */
export const replyParsers: Readonly<Record<string, (text: string) => string>> = {
  "email-reply-parser": (text) => new EmailReplyParser().read(text).getVisibleText(),
  planer: (text) => planer.extractFromPlain(text),
};
