import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** The violations that axe finds by WCAG 2.2 AA, and elements that are wider than the page or overflow their box unseen. */
export async function pageFaults(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(where: Document, how: object): Promise<AxeResult> } };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const { violations } = await axe.run(document, { runOnly: tags, iframes: false, resultTypes: ["violations"] });
    const tooWide = document.documentElement.scrollWidth - innerWidth;

    /** Whether a cut is visible to the user: a box that scrolls, or text that ends in an ellipsis. */
    const isCutVisibly = (element: Element | null): boolean => {
      if (element === null) return false;
      const { overflowX, textOverflow } = getComputedStyle(element);
      if (overflowX === "auto" || overflowX === "scroll" || textOverflow === "ellipsis")
        return element.tagName !== "MAIN";
      return isCutVisibly(element.parentElement);
    };
    const standsOut = [...document.querySelectorAll("main *:not(svg *, .unseen)")].filter((element) => {
      const holder = element.parentElement;
      const box = element.getBoundingClientRect();
      const around = holder?.getBoundingClientRect();
      if (around === undefined || box.width === 0 || isCutVisibly(holder)) return false;
      const { marginLeft, marginRight } = getComputedStyle(element);
      const beyond = (margin: string) => Math.min(0, Number.parseFloat(margin)) - 1;
      return box.left < around.left + beyond(marginLeft) || box.right > around.right - beyond(marginRight);
    });
    return [
      ...violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(" | ")}`),
      ...(tooWide > 0 ? [`too wide by ${tooWide}`] : []),
      ...standsOut.map((element) => `stands out: ${element.outerHTML.slice(0, 100)}`),
    ];
  });
}

interface AxeResult {
  violations: { id: string; nodes: { html: string }[] }[];
}
