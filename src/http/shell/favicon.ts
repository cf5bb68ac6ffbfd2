import { Elysia } from "elysia";

/**
 * The icon of a browser tab: an envelope. Pages name `/favicon.svg`. Browsers request `/favicon.ico` by themselves, and
 * not all accept an SVG there, so that is a picture of 32 × 32 pixels.
 */
export function favicon() {
  return new Elysia()
    .get(
      "/favicon.svg",
      ({ set }) => {
        Object.assign(set.headers, { ...headers, "content-type": "image/svg+xml" });
        return svg;
      },
      hidden,
    )
    .get(
      "/favicon.ico",
      ({ set }) => {
        Object.assign(set.headers, { ...headers, "content-type": "image/x-icon" });
        return ico;
      },
      hidden,
    );
}

const hidden = { detail: { hide: true } };

const headers = {
  "cache-control": "public, max-age=86400",
  // An SVG that is opened as a page may run scripts.
  "content-security-policy": "default-src 'none'",
  "x-content-type-options": "nosniff",
};

const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f6feb"/><path d="M7 10h18v12H7zl9 7.5 9-7.5" fill="none" stroke="#fff" stroke-width="2"/></svg>
`;

const ico = Buffer.from(
  [
    "AAABAAEAICAAAAEAIAAnAQAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAAAO5JREFUeNpjkM9/zYCEFYC4H4jPA/F/Ku",
    "PzULMVkO1EtjwBiN/TwGJ0/B5qF4oDEuhgMTpOgDlAgU4+xxYSCgzQePk/QLifgUYJjuiEyTCAloPxqANwOoDaYOg7oHjpZ6KDFaSWag6Ye+Ab",
    "CpuQ5ejqKXYAuo92Xvr5X7fiDYZ6kBhIDj3EqOIAEPbsev//47d/YLGrT37/t258B5cDsUFiIABSA1KLyxyyHYDLInwOo7oDsAU1oaihugNwJT",
    "ZyzSHbAbDESSh70tQBxOCh74CRWxeMtgfo6YABb5QOeLN8wDsmA941GxSd0wHrngMAh5GoD1Pmq/MAAAAASUVORK5CYII=",
  ].join(""),
  "base64",
);
