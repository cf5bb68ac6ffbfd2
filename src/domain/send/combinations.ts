import type { Fault } from "../errors.ts";

/** The fields of a send that depend on each other. The schema checks each field by itself. */
export type AskedTogether = Readonly<
  Partial<
    Record<
      | "to"
      | "subject"
      | "body"
      | "bodyHtml"
      | "bodyFormat"
      | "threadId"
      | "replyToMessageId"
      | "replyAll"
      | "readUpToMessageId"
      | "ifUnanswered"
      | "unlessReplied"
      | "forwardOf"
      | "forwardAs"
      | "includeAttachments",
      unknown
    >
  >
>;

/** The faults of fields that are valid by themselves but not together. A field with its default value counts as absent. */
export function faultsOfCombination(asked: AskedTogether): Fault[] {
  return [...missingFields(asked), ...broken(rules, asked)];
}

/** The faults of fields that a draft has not got, and a mail needs. */
export function missingFields(asked: AskedTogether): Fault[] {
  return broken(needs, asked);
}

/** The faults of the fields of a draft, which may lack what it needs to be sent. */
export function faultsOfDraft(asked: AskedTogether): Fault[] {
  return broken(rules, asked);
}

function broken(of: readonly Rule[], asked: AskedTogether): Fault[] {
  return of.filter(({ isBroken }) => isBroken(asked)).map(({ pointer, detail }) => ({ pointer, detail }));
}

interface Rule {
  pointer: string;
  detail: string;
  isBroken: (asked: AskedTogether) => boolean;
}

const isReply = ({ threadId, replyToMessageId }: AskedTogether) =>
  threadId !== undefined || replyToMessageId !== undefined;
const isForward = ({ forwardOf }: AskedTogether) => forwardOf !== undefined;
const answersAll = ({ replyAll }: AskedTogether) => replyAll === true;

const needs: readonly Rule[] = [
  {
    pointer: "#/to",
    detail: "is required",
    isBroken: (asked) => asked.to === undefined && (isForward(asked) || (!isReply(asked) && !answersAll(asked))),
  },
  {
    pointer: "#/subject",
    detail: 'is required without "threadId"',
    isBroken: (asked) => asked.subject === undefined && !isReply(asked) && !isForward(asked),
  },
  {
    pointer: "#/body",
    detail: "is required",
    isBroken: (asked) => asked.body === undefined && !isForward(asked),
  },
];

const rules: readonly Rule[] = [
  {
    pointer: "#/to",
    detail: 'cannot be combined with "replyAll", which determines the recipients',
    isBroken: (asked) => asked.to !== undefined && answersAll(asked),
  },
  {
    pointer: "#/replyAll",
    detail: 'is for replies: it needs "threadId" or "replyToMessageId"',
    isBroken: (asked) => answersAll(asked) && !isReply(asked),
  },
  {
    pointer: "#/replyToMessageId",
    detail: 'cannot be combined with "forwardOf": a mail is a reply or a forward',
    isBroken: (asked) => asked.replyToMessageId !== undefined && isForward(asked),
  },
  {
    pointer: "#/replyAll",
    detail: 'cannot be combined with "forwardOf": a mail is a reply or a forward',
    isBroken: (asked) => answersAll(asked) && isForward(asked),
  },
  {
    pointer: "#/ifUnanswered",
    detail: 'is for replies: it needs "threadId" or "replyToMessageId"',
    isBroken: (asked) => asked.ifUnanswered === true && !isReply(asked),
  },
  {
    pointer: "#/readUpToMessageId",
    detail: 'is required with "ifUnanswered": the last message that you have seen',
    isBroken: (asked) => asked.ifUnanswered === true && asked.readUpToMessageId === undefined,
  },
  {
    pointer: "#/unlessReplied",
    detail: 'is for replies: it needs "threadId" or "replyToMessageId"',
    isBroken: (asked) => asked.unlessReplied === true && !isReply(asked),
  },
  {
    pointer: "#/forwardAs",
    detail: 'is for forwards: it needs "forwardOf"',
    isBroken: (asked) => asked.forwardAs === "attachment" && !isForward(asked),
  },
  {
    pointer: "#/includeAttachments",
    detail: 'is for forwards: it needs "forwardOf"',
    isBroken: (asked) => asked.includeAttachments === false && !isForward(asked),
  },
  {
    pointer: "#/includeAttachments",
    detail: 'cannot be false if "forwardAs" is "attachment", which attaches the whole mail',
    isBroken: (asked) => asked.includeAttachments === false && asked.forwardAs === "attachment" && isForward(asked),
  },
  {
    pointer: "#/bodyHtml",
    detail: 'cannot be combined with "bodyFormat": "markdown", which makes the HTML',
    isBroken: ({ bodyHtml, bodyFormat }) => bodyHtml !== undefined && bodyFormat === "markdown",
  },
  {
    pointer: "#/bodyHtml",
    detail: 'cannot be combined with "bodyFormat": "text", which has no HTML',
    isBroken: ({ bodyHtml, bodyFormat }) => bodyHtml !== undefined && bodyFormat === "text",
  },
  {
    pointer: "#/bodyHtml",
    detail: 'cannot be combined with "bodyFormat": "html": "body" is then the HTML',
    isBroken: ({ bodyHtml, bodyFormat }) => bodyHtml !== undefined && bodyFormat === "html",
  },
];
