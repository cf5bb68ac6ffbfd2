import { Argument, type Command, Option } from "commander";
import { reporting } from "./cli.ts";
import { ofServer } from "./client.ts";
import type { Trigger, TriggerOptions } from "./trigger/trigger.ts";

export function triggerCommand(program: Command): void {
  reporting(
    ofServer(program.command("trigger"))
      .description(
        "let a realistic mail come in by SMTP: a reply to the newest sent mail or a bounce of it, a sign-up mail with a code and a link, or an invoice as PDF",
      )
      .addArgument(
        new Argument("<mail>", "the mail that comes in").choices([
          "reply",
          "bounce",
          "code",
          "invoice",
        ] satisfies Trigger[]),
      )
      .argument("<inbox>", "id or address of the inbox")
      .addOption(
        new Option("--smtp <host:port>", "SMTP listener of the server (default: its host, port 2525)").env(
          "INBOXD_SMTP",
        ),
      ),
    async (what: Trigger, inbox: string, options: TriggerOptions) => {
      const { trigger } = await import("./trigger/trigger.ts");
      return trigger(what, inbox, options);
    },
  );
}
