import type { Command } from "commander";
import { admin } from "./admin.ts";
import { type OfAccount, ofAccount, reporting } from "./cli.ts";

interface Link {
  url: string;
  expiresAt: string;
}

/** The way into the console for whoever runs the service: no key has to be found, typed or kept in a browser. */
export function consoleCommand(program: Command): void {
  reporting(
    ofAccount(program.command("console")).description(
      "print a link that signs a browser in at the console; it is good for 5 minutes",
    ),
    async ({ account }: OfAccount) => (await admin({ operation: "console link", arguments: { account } })) as Link,
    ({ url }) => `${url}\n`,
  );
}
