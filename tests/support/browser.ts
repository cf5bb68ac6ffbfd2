import { type BrowserContext, chromium, type Page } from "playwright-core";

/**
 * The browser of the tests, preferably one without windows, which takes two thirds of the processor time. Without a Chromium
 * these tests are skipped, and the run says so.
 */
export const chromiumPath = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
  .map((name) => Bun.which(name))
  .find((path) => path !== null);

if (chromiumPath === undefined) console.log("Skipped: the pages in a browser, since this machine has no chromium");

export interface Browser extends AsyncDisposable {
  /** Opens a page in a new, empty profile. */
  open(url: URL | string, look?: Look): Promise<WatchedPage>;
}

export interface Look {
  width?: number;
  height?: number;
  colorScheme?: "light" | "dark";
  /** The language of the reader, which decides how dates are written. */
  locale?: string;
  /** A finger instead of a mouse. */
  hasTouch?: boolean;
  /** Ignores the pages' content security policy, to test the protection behind it. */
  bypassCSP?: boolean;
}

export interface WatchedPage {
  page: Page;
  /** Errors and warnings: of the page's scripts, and of the browser about its policy or failed loads. */
  faults: readonly string[];
  /** The address of each request that the page made. */
  requested: readonly URL[];
}

export async function startBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    ...(chromiumPath !== undefined && { executablePath: chromiumPath }),
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-sync",
      "--disable-background-networking",
      "--disable-component-update",
    ],
    // A loaded machine may take long to start one; the runner ends a test that hangs.
    timeout: 0,
  });
  return {
    async open(
      url,
      { width = 1400, height = 900, colorScheme = "light", bypassCSP = false, locale = "en-US", hasTouch = false } = {},
    ) {
      const context = await browser.newContext({
        viewport: { width, height },
        colorScheme,
        bypassCSP,
        locale,
        hasTouch,
        isMobile: hasTouch,
      });
      // Shorter than the runner's time-out, so that the error names what was waited for.
      context.setDefaultTimeout(60_000);
      const watched = await watchedPage(context);
      await watched.page.goto(String(url));
      return watched;
    },
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

async function watchedPage(context: BrowserContext): Promise<WatchedPage> {
  const page = await context.newPage();
  const faults: string[] = [];
  const requested: URL[] = [];
  page.on("pageerror", ({ message }) => void faults.push(message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) faults.push(message.text());
  });
  page.on("request", (request) => void requested.push(new URL(request.url())));
  return { page, faults, requested };
}
