import { visibleText } from "../standards/text.ts";

/**
 * All that a command says. Subjects, names and other servers' words come from strangers: a control character among them could
 * rewrite what is on the screen, or type for whoever looks at it.
 */
export function tell(text: string, stream: NodeJS.WriteStream = process.stdout): void {
  stream.write(visibleText(text).replaceAll("\r", "\ufffd"));
}

/** A value as JSON that has no control character either: by itself it leaves DEL and C1 as they are, which some terminals obey. */
export function jsonOf(value: unknown, indent?: number): string {
  const escaped = (control: string) => `\\u00${control.charCodeAt(0).toString(16)}`;
  return `${JSON.stringify(value, null, indent).replace(/[\u007f-\u009f]/g, escaped)}\n`;
}
