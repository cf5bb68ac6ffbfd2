import { visibleText } from "../standards/text.ts";

/**
 * All that a command says. Subjects, names and other servers' words come from strangers: a control character among them could
 * rewrite what is on the screen, or type for whoever looks at it.
 */
export function tell(text: string, stream: NodeJS.WriteStream = process.stdout): void {
  stream.write(visible(text));
}

/**
 * The same of much, bit by bit: resolves when it was taken, so that no more lies here than whoever reads has room for. Who
 * takes nothing does not keep a command from ending, which the signal says.
 */
export function tellTaken(text: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      signal.removeEventListener("abort", done);
      resolve();
    };
    signal.addEventListener("abort", done);
    process.stdout.write(visible(text), done);
  });
}

function visible(text: string): string {
  return visibleText(text).replaceAll("\r", "\ufffd");
}

/** A value as JSON that has no control character either: by itself it leaves DEL and C1 as they are, which some terminals obey. */
export function jsonOf(value: unknown, indent?: number): string {
  const escaped = (control: string) => `\\u00${control.charCodeAt(0).toString(16)}`;
  return `${JSON.stringify(value, null, indent).replace(/[\u007f-\u009f]/g, escaped)}\n`;
}
