/** What the library sends and waits for by itself. */
interface Inside {
  _sendCommand(command: string): void;
  _responseActions: ((reply: string) => void)[];
}

/**
 * Names a sender as if a mail were to follow, and gives the server's answer as it came. The library knows such a thing only with a
 * recipient and a mail.
 */
export function askSender(connection: object, sender: string, done: (error: null, reply: string) => void): void {
  if (/[\r\n<>]/.test(sender)) throw new Error("Cannot ask for a sender: it is no address");
  const inside = connection as Inside;
  inside._responseActions.push((reply) => done(null, reply));
  inside._sendCommand(`MAIL FROM:<${sender}>`);
}
