import { Elysia } from "elysia";

/**
 * The sign in a browser's tab: an envelope. `/favicon.svg` is for pages that name it; browsers ask for `/favicon.ico` by themselves,
 * and not all of them take a drawing there, so that one is of 32 times 32 points.
 */
export function favicon() {
  return new Elysia()
    .get(
      "/favicon.svg",
      ({ set }) => {
        Object.assign(set.headers, { ...headers, "content-type": "image/svg+xml" });
        return drawing;
      },
      hidden,
    )
    .get(
      "/favicon.ico",
      ({ set }) => {
        Object.assign(set.headers, { ...headers, "content-type": "image/x-icon" });
        return points;
      },
      hidden,
    );
}

const hidden = { detail: { hide: true } };

const headers = {
  "cache-control": "public, max-age=86400",
  // Opened as a page of its own a drawing could run scripts, if it had any.
  "content-security-policy": "default-src 'none'",
  "x-content-type-options": "nosniff",
};

const drawing = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f6feb"/><path d="M7 10h18v12H7zl9 7.5 9-7.5" fill="none" stroke="#fff" stroke-width="2"/></svg>
`;

const points = Buffer.from(
  [
    "AAABAAEAICAAAAEAIAAnAQAAFgAAAIlQTkcNChoKAAAADUlIRFIAAAAgAAAAIAgGAAAAc3p69AAAAO5JREFUeNpjkM9/zYCEFYC4H4jPA/F/Ku",
    "PzULMVkO1EtjwBiN/TwGJ0/B5qF4oDEuhgMTpOgDlAgU4+xxYSCgzQePk/QLifgUYJjuiEyTCAloPxqANwOoDaYOg7oHjpZ6KDFaSWag6Ye+Ab",
    "CpuQ5ejqKXYAuo92Xvr5X7fiDYZ6kBhIDj3EqOIAEPbsev//47d/YLGrT37/t258B5cDsUFiIABSA1KLyxyyHYDLInwOo7oDsAU1oaihugNwJT",
    "ZyzSHbAbDESSh70tQBxOCh74CRWxeMtgfo6YABb5QOeLN8wDsmA941GxSd0wHrngMAh5GoD1Pmq/MAAAAASUVORK5CYII=",
  ].join(""),
  "base64",
);
