import { type Command, InvalidArgumentError } from "commander";
import { isIpAddress } from "../../standards/ip.ts";
import { reporting } from "../cli.ts";
import type { Checked, SentBy } from "./check-file.ts";
import { wordsOf } from "./words.ts";

/** Adds `authenticate`. Its exit code is 0 whatever the verdict is. */
export function authenticateCommand(program: Command): void {
  reporting(
    program
      .command("authenticate <file>")
      .description("check who sent a mail, as for arriving mail, and show each step; - reads the mail from stdin")
      .option("--ip <address>", "address of the host that sent it (without it, SPF is not checked)", parseIp)
      .option("--from <address>", "sender in the envelope (without it, the mail counts as a bounce)")
      .option("--helo <name>", "name that the host gave with EHLO"),
    async (file: string, sentBy: SentBy): Promise<Checked> => {
      const { checkFile } = await import("./check-file.ts");
      return checkFile(file, sentBy);
    },
    wordsOf,
  );
}

function parseIp(text: string): string {
  if (!isIpAddress(text)) throw new InvalidArgumentError("It must be an IPv4 or IPv6 address.");
  return text;
}
