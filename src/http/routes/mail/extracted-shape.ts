import { Type } from "@sinclair/typebox";
import { linkKinds } from "../../../extract/links/link-kind.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { nullable, oneOf } from "../../shell/models.ts";

export const Code = named(
  "Code",
  Type.Object(
    {
      code: Type.String({ description: "The code as one types it", examples: ["482913"] }),
      text: Type.String({ description: "The code as the mail spells it", examples: ["482 913"] }),
      domain: nullable(Type.String({ examples: ["example.com"] }), {
        description: "The host that it is for, if the mail names one",
        examples: [null],
      }),
      source: oneOf(["subject", "text", "html"], { description: "Where it was found", examples: ["text"] }),
    },
    { description: "A code to type in" },
  ),
);

export const Link = named(
  "Link",
  Type.Object(
    {
      url: Type.String({
        description: "Absolute, http or https. The service never fetches it",
        examples: ["https://example.com/verify?token=4f1c"],
      }),
      text: Type.String({
        description: 'The visible text of the link, `""` for a bare URL',
        examples: ["Verify your address"],
      }),
      kind: nullable(oneOf(linkKinds, { examples: ["verify"] }), {
        description: "Its purpose, if its text or path shows it",
        examples: ["verify"],
      }),
      misleading: Type.Boolean({
        description:
          "Whether it is not what it looks like: its text names another host, or its URL has user information, an IP address or mixed scripts",
        examples: [false],
      }),
    },
    { description: "A link of a mail" },
  ),
);

/** Fields that are extracted from a message whenever it is shown. */
export const extractedFields = {
  codes: Type.Array(Code, {
    description: "Codes to type in, the best first, at most 5; none for outbound mail. Extracted at each request",
  }),
  links: Type.Array(Link, {
    description: "Links in order, at most 50, each URL once; none for outbound mail",
  }),
  extractedText: Type.String({
    description: "`bodyText` without quotes and signature",
    examples: [examples.question],
  }),
  extractedHtml: nullable(Type.String({ examples: [`<p>${examples.question}</p>`] }), {
    description: "`bodyHtml` without quotes and signature; null if `bodyHtml` is null. Not sanitised",
  }),
};
