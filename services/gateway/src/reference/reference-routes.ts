import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import type { Operation } from '../http/operation.ts';
import type { PlainRoute } from '../http/plain-route.ts';
import { openApiDocument, type OpenApiDocument } from '../openapi/document.ts';
import { contentOf, ownFiles, sendContent, type Content, type OwnFile } from '../content/content.ts';
import { REFERENCE, REFERENCE_POLICY, referencePage } from './reference-page.ts';
import { withoutSessions } from './without-sessions.ts';
import { withCodeSamples } from './samples/code-samples.ts';

export interface ReferenceRoutes {
  readonly basePath: string;
  readonly operations: readonly Operation[];
  /** The address as clients know it, without a slash at the end. */
  readonly publicUrl: () => string;
}

/** The OpenAPI document and a page that shows it. They need no key, load nothing from other hosts, and are made once. */
export const referenceRoutes = ({ basePath, operations, publicUrl }: ReferenceRoutes): PlainRoute[] => {
  const page = contentOf('text/html', Buffer.from(referencePage(basePath)));
  const document = madeOnce((server) => openApiDocument(operations, server));
  const shown = madeOnce((server) => shownDocument(openApiDocument(operations, server), server, basePath));
  const api = (): string => `${publicUrl()}${basePath}`;
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
