import { Type } from "@sinclair/typebox";
import type { HtmlOfMarkdown } from "../../../flows/send/send-email.ts";
import { named } from "../../document/schema.ts";
import { api } from "../../shell/app.ts";
import { nullable, text } from "../../shell/models.ts";
import { operation } from "../../shell/operation.ts";

const MarkdownText = named(
  "MarkdownText",
  Type.Object(
    {
      body: text({
        min: 1,
        max: 100_000,
        description: "Markdown, as in the `body` of a send with `bodyFormat: markdown`",
        examples: ["Shall we have **lunch**?"],
      }),
    },
    { description: "The Markdown to convert" },
  ),
);

const ConvertedMarkdown = named(
  "ConvertedMarkdown",
  Type.Object(
    {
      html: nullable(Type.String({ examples: ["<p>Shall we have <strong>lunch</strong>?</p>"] }), {
        description: "The HTML that the mail would have; null if the mail would have only its text",
      }),
    },
    { description: "The Markdown as HTML" },
  ),
);

/** Shows what a send makes of Markdown, for a preview. */
export function markdown({ htmlOfMarkdown }: { htmlOfMarkdown: HtmlOfMarkdown }) {
  return api("/v1/markdown", "Sending").post(
    "",
    async ({ account, body }) => ({ html: (await htmlOfMarkdown(body.body, account.id)) ?? null }),
    operation({
      summary: "Convert Markdown",
      access: "send",
      description:
        "Converts Markdown to the HTML that a mail with it would have, and sends nothing. It is CommonMark with tables and strikethrough; HTML in it becomes text. A quote of the answered message is not included.",
      body: MarkdownText,
      answers: { 200: ConvertedMarkdown },
    }),
  );
}
