/** Finds an element that the page must have. If it is missing, page and script are of different versions. */
export function the<Kind extends Element = HTMLElement>(selector: string, within: ParentNode = document): Kind {
  const found = within.querySelector<Kind>(selector);
  if (found === null) throw new Error(`Cannot find ${selector}: reload the page`);
  return found;
}

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string>>,
  ...children: readonly (string | Node)[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

/** A value in the browser's storage. If the browser forbids storage, the value lasts only as long as the page. */
export function kept(storage: () => Storage, name: string) {
  let here: string | null = null;
  try {
    here = storage().getItem(name);
  } catch {}
  return {
    read: () => here ?? "",
    write(value: string): void {
      here = value;
      try {
        storage().setItem(name, value);
      } catch {}
    },
  };
}
