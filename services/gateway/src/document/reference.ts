import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import type { Operation, PlainRoute } from '../door/operation.ts';
import { openApiDocument, withOperations, type OpenApiDocument } from './document.ts';
import { contentOf, ownFiles, sendContent, type Content, type OwnFile } from '../files/content.ts';
import { withCodeSamples } from './code-samples.ts';
import { apiUrl, type Kit } from '../kit.ts';

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
const REFERENCE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The page that shows the OpenAPI document. On narrow screens the renderer has no navigation: `search.js` finds operations there. */
const referencePage = (basePath: string): string => `<!doctype html>
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

/** The OpenAPI document and a page that shows it. They need no key, load nothing from other hosts, and are made once. */
export const referenceRoutes = (kit: Kit, operations: readonly Operation[]): PlainRoute[] => {
  const basePath = kit.config.RUNLEDGER_BASE_PATH;
  const page = contentOf('text/html', Buffer.from(referencePage(basePath)));
  const document = madeOnce((server) => openApiDocument(operations, server));
  const shown = madeOnce((server) => shownDocument(openApiDocument(operations, server), server, basePath));
  const api = (): string => apiUrl(kit);
  const kept = ownFiles(OWN_FILES.length);
  return [
    get(`${basePath}/openapi.json`, async (ctx) => sendContent(ctx, await document(api()))),
    get(`${basePath}${REFERENCE.document}`, async (ctx) => sendContent(ctx, await shown(api()))),
    ...[REFERENCE.page, `${REFERENCE.page}/`].map((path) =>
      get(`${basePath}${path}`, async (ctx) => {
        ctx.set('Content-Security-Policy', REFERENCE_POLICY);
        sendContent(ctx, await page);
      }),
    ),
    ...OWN_FILES.map(({ at, ...file }) =>
      get(`${basePath}${at}`, async (ctx) => sendContent(ctx, await kept(file))),
    ),
  ];
};

const get = (path: string, serve: (ctx: Context) => Promise<void>): PlainRoute => ({
  method: 'GET',
  path,
  serve: serve satisfies Middleware,
});

/** With code samples, and without sessions. Requests that are tried go where the page comes from, whatever name the reader knows that by. */
const shownDocument = (document: OpenApiDocument, server: string, basePath: string): OpenApiDocument => ({
  ...withCodeSamples(withoutSessions(document), server),
  servers: [{ url: basePath === '' ? '/' : basePath }],
});

const madeOnce = (make: (server: string) => OpenApiDocument): ((server: string) => Promise<Content>) => {
  const documents = new LRUCache<string, Content>({
    max: 1,
    fetchMethod: (server) => contentOf('application/json', Buffer.from(JSON.stringify(make(server)))),
  });
  return (server) => documents.forceFetch(server);
};

const require = createRequire(import.meta.url);
const inBrowser = (name: string): string => fileURLToPath(new URL(`./browser/${name}`, import.meta.url));

const OWN_FILES: readonly (OwnFile & { readonly at: string })[] = [
  {
    at: REFERENCE.renderer,
    path: require.resolve('openapi-explorer/dist/browser/openapi-explorer.min.js'),
    type: 'text/javascript',
  },
  { at: REFERENCE.style, path: inBrowser('reference.css'), type: 'text/css' },
  { at: REFERENCE.search, path: inBrowser('search.js'), type: 'text/javascript' },
  { at: REFERENCE.icon, path: inBrowser('icon.svg'), type: 'image/svg+xml' },
];

type Described = Readonly<Record<string, unknown>>;

/** The document without sessions: the page sends none, so its reader cannot choose it. */
const withoutSessions = (document: OpenApiDocument): OpenApiDocument => {
  const { securitySchemes, ...components } = document['components'] as Described;
  const { session: _cookie, sessionToken: _token, ...schemes } = securitySchemes as Described;
  const changed = { ...withoutIn(document), components: { ...components, securitySchemes: schemes } };
  return withOperations(changed, withoutIn);
};

const withoutIn = <Part extends object>(described: Part): Part =>
  'security' in described && Array.isArray(described.security)
    ? { ...described, security: described.security.filter((one: object) => !('session' in one)) }
    : described;
