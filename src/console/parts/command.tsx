import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { service } from "../address.ts";
import { Icon } from "./icon.tsx";

/** A command for a shell, with a button that copies it. */
export function Command({ line }: { line: string }) {
  return (
    <div class="command">
      <Scrolled>
        <code>{line}</code>
      </Scrolled>
      <CopyButton text={line} what="Copy command" />
    </div>
  );
}

/** The curl command for a call of the API. It takes the key from the environment. */
export function curl(method: string, path: string, body?: string): string {
  const parts = [
    `curl${method === "GET" ? "" : ` -X ${method}`} ${new URL(path, service).href}`,
    `-H "Authorization: Bearer $INBOXD_API_KEY"`,
    ...(body === undefined ? [] : [`-H "Content-Type: application/json"`, `-d '${body}'`]),
  ];
  return parts.join(" \\\n  ");
}

/** Preformatted text that scrolls sideways if it is too wide. */
export function Scrolled({ isBlock = false, children }: { isBlock?: boolean; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach whatever scrolls
    <pre class={isBlock ? "block" : undefined} tabIndex={0}>
      {children}
    </pre>
  );
}

export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isCopied, setIsCopied] = useState(false);
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => {
        setIsCopied(true);
        setTimeout(() => setIsCopied(false), 1_500);
      },
      () => undefined,
    );
  };
  return (
    <button type="button" class="quiet small" aria-label={what} title={what} onClick={copy}>
      <Icon name={isCopied ? "done" : "copy"} />
      <span class="unseen" role="status">
        {isCopied ? "Copied" : ""}
      </span>
    </button>
  );
}
