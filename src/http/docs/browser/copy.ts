import { element } from "./elements.ts";

/** A button that copies the text of `code` as it is at the click. */
export function copyButton(code: Element): HTMLButtonElement {
  const button = element("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", () => copyText(code.textContent, button));
  return button;
}

function copyText(text: string, button: Element): void {
  // Only pages with TLS and pages of this machine may write to the clipboard.
  const copied = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
  const label = (word: string) => {
    button.textContent = word;
  };
  copied.then(
    () => label("Copied"),
    () => label("Select it"),
  );
  button.addEventListener("blur", () => label("Copy"), { once: true });
}
