import { the } from "./elements.ts";
import { highlight } from "./highlight.ts";
import { type Draft, type Language, sampleOf } from "./samples.ts";

/** The language of the code samples, which all forms share. */
export interface SampleLanguage {
  language: () => Language;
  choose: (language: Language) => void;
}

/** The code sample below a form, in the chosen language, with a button that copies it. */
export function sampleView(form: HTMLFormElement, draft: () => Draft, { language, choose }: SampleLanguage) {
  const code = the("pre code", form);
  form.addEventListener("click", ({ target }) => {
    const tab = (target as Element).closest<HTMLElement>("[data-language]");
    if (tab) choose(tab.dataset.language as Language);
    const copy = (target as Element).closest(".copy");
    if (copy) copyText(code.textContent, copy);
  });
  return function draw(): void {
    for (const tab of form.querySelectorAll<HTMLElement>("[data-language]")) {
      tab.setAttribute("aria-pressed", String(tab.dataset.language === language()));
    }
    code.textContent = sampleOf(language(), draft());
    highlight(code);
  };
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
