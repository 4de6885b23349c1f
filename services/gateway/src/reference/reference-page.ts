/** Where the parts of the reference are, below the base path of the API. */
export const REFERENCE = {
  page: '/docs',
  document: '/docs/document.json',
  renderer: '/docs/openapi-explorer.min.js',
  style: '/docs/reference.css',
  search: '/docs/search.js',
  icon: '/docs/icon.svg',
} as const;

/**
 * The renderer styles its elements with attributes, and images in its style sheets are data. Nothing else comes from anywhere
 * but this gateway, and no script is in the page.
 */
export const REFERENCE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The page that shows the OpenAPI document. On narrow screens the renderer has no navigation: `search.js` finds operations there. */
export const referencePage = (basePath: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>Runledger run API</title>
    <link rel="icon" href="${basePath}${REFERENCE.icon}" />
    <link rel="stylesheet" href="${basePath}${REFERENCE.style}" />
    <script type="module" src="${basePath}${REFERENCE.renderer}"></script>
    <script type="module" src="${basePath}${REFERENCE.search}"></script>
  </head>
  <body>
    <noscript>
      <p>This page needs JavaScript. The document that it shows: <a href="${basePath}/openapi.json">openapi.json</a></p>
    </noscript>
    <search id="narrow">
      <a href="/">Runledger</a>
      <input id="wanted" type="search" placeholder="Find an operation" aria-label="Find an operation" autocomplete="off" />
      <ul id="found" hidden></ul>
    </search>
    <openapi-explorer
      spec-url="${basePath}${REFERENCE.document}"
      fetch-credentials="omit"
      collapse
    >
      <p slot="nav-header"><a href="/">Runledger</a> <a href="${basePath}/openapi.json">openapi.json</a></p>
    </openapi-explorer>
  </body>
</html>
`;
