import { strictEqual as equal } from "node:assert";
import { greeted } from "../../tests/support/raw-smtp.ts";

export function mailOf(subject: string, body: string): string {
  const id = subject.replaceAll(" ", "-");
  return `From: Jane <jane@example.com>\r\nTo: ada@inbox.localhost\r\nSubject: ${subject}\r\nMessage-ID: <${id}@example.com>\r\n\r\n${body}`;
}

/** Hands in a mail to ada, as another server would. */
export async function deliver(port: number, mail: string): Promise<void> {
  const client = await greeted(port);
  await client.ask("MAIL FROM:<jane@example.com>");
  await client.ask("RCPT TO:<ada@inbox.localhost>");
  await client.ask("DATA");
  equal((await client.ask(`${mail}.`)).slice(0, 3), "250");
  await client.ask("QUIT");
}
