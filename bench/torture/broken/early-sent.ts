/** Broken on purpose: a mail counts as sent before the relay's reply, which is ignored. */
import { smtpRelay } from "../../../src/relay/relay.ts";
import { bytesBody } from "../../../src/relay/relayed-mail.ts";
import { scriptedSmtp } from "../../../tests/support/scripted-smtp.ts";
import { portOf, serveBroken } from "./support.ts";

await serveBroken(async (config) => {
  if (config.outbound.kind !== "smtp") throw new Error("Cannot break the relay: there is none");
  const relay = smtpRelay(config.outbound, { hostname: config.smtpHostname });
  const between = await scriptedSmtp({
    answer(command) {
      const mail = command === "." ? between.mails.shift() : undefined;
      const recipients = [{ address: mail?.to ?? "" }];
      if (mail) void relay.send({ envelopeFrom: mail.from, recipients, body: bytesBody(mail.raw), smtpUtf8: false });
      return undefined;
    },
  });
  return { ...config, outbound: { ...config.outbound, port: between.port } };
}, portOf);
