import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";
import { Scrolled } from "./scrolled.tsx";

/** A line for a shell, with a button that copies it. */
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
