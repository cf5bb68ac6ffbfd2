import { copyButton } from "./copy.ts";
import type { Draft } from "./draft.ts";
import { the } from "./elements.ts";
import { highlight } from "./highlight.ts";
import { type Language, sampleOf, withKey } from "./samples.ts";

/** The language of the code samples, which all forms share. */
export interface SampleLanguage {
  language: () => Language;
  choose: (language: Language) => void;
}

/** The code sample below a form, in the chosen language and with the entered key, and a button that copies it. */
export function sampleView(
  form: HTMLFormElement,
  draft: () => Draft,
  { language, choose, key }: SampleLanguage & { key: () => string },
) {
  const code = the("pre code", form);
  the(".tabs", form).append(copyButton(code));
  form.addEventListener("click", ({ target }) => {
    const tab = (target as Element).closest<HTMLElement>("[data-language]");
    if (tab) choose(tab.dataset.language as Language);
  });
  return function draw(): void {
    for (const tab of form.querySelectorAll<HTMLElement>("[data-language]")) {
      tab.setAttribute("aria-pressed", String(tab.dataset.language === language()));
    }
    code.textContent = withKey(sampleOf(language(), draft()), key());
    highlight(code);
  };
}
