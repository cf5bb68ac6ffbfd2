import { type Html, html } from "../docs/html.ts";

/** The head of every page that people see, up to `more`. No page is for search engines. */
export function pageHead({ title, more }: { title: string; more: Html }): Html {
  return html`<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}</title>
${more}</head>`;
}

/** The icon and the style of the console, for pages that have its look. `root` is the way to the root of the service, such as `../`. */
export function consoleLook(root: string, styleName: string): Html {
  return html`<link rel="icon" href="${root}favicon.svg">
<link rel="stylesheet" href="${root}console/assets/${styleName}">
`;
}
