import type { ComponentChildren } from "preact";

/** Text in lines of its own, which scrolls where it is wider than its place. */
export function Scrolled({ isBlock = false, children }: { isBlock?: boolean; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <pre class={isBlock ? "block" : undefined} tabIndex={0}>
      {children}
    </pre>
  );
}
