import { Type } from "@sinclair/typebox";
import { linkKinds } from "../../../extract/links/link-kind.ts";
import { examples } from "../../document/examples.ts";
import { named } from "../../document/schema.ts";
import { nullable, oneOf } from "../../shell/models.ts";

export const Code = named(
  "Code",
  Type.Object(
    {
      code: Type.String({ description: "As one types it", examples: ["482913"] }),
      text: Type.String({ description: "As it stands in the mail", examples: ["482 913"] }),
      domain: nullable(Type.String({ examples: ["example.com"] }), {
        description: "The host that it is for, where the mail binds it to one",
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
        description: "Absolute, http or https. It has not been fetched",
        examples: ["https://example.com/verify?token=4f1c"],
      }),
      text: Type.String({
        description: 'The visible words of the link, `""` of a bare address',
        examples: ["Verify your address"],
      }),
      kind: nullable(oneOf(linkKinds, { examples: ["verify"] }), {
        description: "What it is for, by its words and its path, where they tell",
        examples: ["verify"],
      }),
      misleading: Type.Boolean({
        description:
          "Whether it is not what it looks like: its words name another host, or its address has user information, an IP address or mixed scripts",
        examples: [false],
      }),
    },
    { description: "A link of a mail" },
  ),
);

/** Fields that are extracted from a message whenever it is shown. */
export const extractedFields = {
  codes: Type.Array(Code, {
    description: "Codes to type in, the best first, 5 at most; none of outbound mail. Made from the mail each time",
  }),
  links: Type.Array(Link, {
    description: "Links in their order, 50 at most, each address once; none of outbound mail",
  }),
  extractedText: Type.String({
    description: "`bodyText` without what it quotes and without the signature",
    examples: [examples.question],
  }),
  extractedHtml: nullable(Type.String({ examples: [`<p>${examples.question}</p>`] }), {
    description:
      "`bodyHtml` without what it quotes and without the signature; null where that is. As a stranger wrote it",
  }),
};
