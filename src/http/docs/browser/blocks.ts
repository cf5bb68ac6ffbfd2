import { copyButton } from "./copy.ts";
import { element } from "./elements.ts";
import { highlight } from "./highlight.ts";
import { withKey } from "./samples.ts";

/**
 * Colours the blocks of code outside of forms, gives each a button that copies it, and puts the entered key into them.
 * `refresh` does so again after a change of the key.
 */
export function makeBlocks(key: () => string): { refresh: () => void } {
  const blocks = Array.from(document.querySelectorAll<HTMLElement>("main pre > code"))
    .filter((code) => code.closest("form") === null)
    .map((code) => {
      const block = code.parentElement as HTMLElement;
      const frame = element("div", { class: "block" });
      block.replaceWith(frame);
      frame.append(block, copyButton(code));
      return { code, written: code.textContent, isColoured: code.className.startsWith("language-") };
    });
  const refresh = () => {
    for (const { code, written, isColoured } of blocks) {
      const text = withKey(written, key());
      const isDrawn = isColoured && code.childElementCount === 0;
      if (text === code.textContent && !isDrawn) continue;
      code.textContent = text;
      if (isColoured) highlight(code);
    }
  };
  refresh();
  return { refresh };
}
