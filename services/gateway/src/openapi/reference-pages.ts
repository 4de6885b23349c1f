import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import etag from 'etag';
import type { Context, Middleware } from 'koa';
import { LRUCache } from 'lru-cache';
import type { PlainRoute } from '../http/plain-route.ts';
import { sendTagged } from '../http/entity-tag.ts';
import type { Operation } from '../http/operation.ts';
import { openApiDocument } from './document.ts';

export interface ReferencePages {
  readonly basePath: string;
  readonly operations: readonly Operation[];
  /** The address as clients know it, without a slash at the end. */
  readonly publicUrl: () => string;
}

/** The OpenAPI document and a page that shows it. They need no key, load nothing from other hosts, and are made once. */
export const referencePages = ({ basePath, operations, publicUrl }: ReferencePages): PlainRoute[] => {
  const reader = tagged(Buffer.from(html(basePath)));
  const program = tagged(Buffer.from(start(basePath)));
  const documents = new LRUCache<string, Tagged>({
    max: 1,
    memoMethod: (server) => tagged(Buffer.from(JSON.stringify(openApiDocument(operations, server)))),
  });
  return [
    page(`${basePath}/openapi.json`, async (ctx) =>
      send(ctx, 'application/json', documents.memo(`${publicUrl()}${basePath}`)),
    ),
    ...[`${basePath}/docs`, `${basePath}/docs/`].map((path) =>
      page(path, async (ctx) => {
        ctx.set('Content-Security-Policy', READER_POLICY);
        send(ctx, 'text/html', reader);
      }),
    ),
    page(`${basePath}/docs/start.js`, async (ctx) => send(ctx, 'text/javascript', program)),
    ...ASSETS.map(({ name, type }) => page(`${basePath}/docs/${name}`, asset(name, type))),
  ];
};

const page = (path: string, serve: Middleware): PlainRoute => ({ method: 'GET', path, serve });

const ASSETS = [
  { name: 'swagger-ui.css', type: 'text/css' },
  { name: 'swagger-ui-bundle.js', type: 'text/javascript' },
  { name: 'favicon-32x32.png', type: 'image/png' },
];

/** The page uses inline styles, and icons in its style sheet. */
const READER_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const html = (basePath: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Runledger run API</title>
    <link rel="icon" href="${basePath}/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="${basePath}/docs/swagger-ui.css" />
  </head>
  <body>
    <noscript>This page needs JavaScript. The document that it shows: <a href="${basePath}/openapi.json">openapi.json</a></noscript>
    <main id="reference"></main>
    <script src="${basePath}/docs/swagger-ui-bundle.js"></script>
    <script src="${basePath}/docs/start.js"></script>
  </body>
</html>
`;

const start = (basePath: string): string =>
  `SwaggerUIBundle({ url: ${JSON.stringify(`${basePath}/openapi.json`)}, dom_id: '#reference', deepLinking: true, docExpansion: 'list', defaultModelsExpandDepth: 0, displayRequestDuration: true, tryItOutEnabled: true });\n`;

const compress = promisify(gzip);
const require = createRequire(import.meta.url);

interface Asset {
  readonly plain: Tagged;
  readonly packed: Tagged;
}

/** Read at the first request, and kept. */
const assets = new LRUCache<string, Asset>({
  max: ASSETS.length,
  fetchMethod: async (name) => {
    const plain = await readFile(require.resolve(`swagger-ui-dist/${name}`));
    return { plain: tagged(plain), packed: tagged(await compress(plain)) };
  },
});

const asset =
  (name: string, type: string): Middleware =>
  async (ctx) => {
    const { plain, packed } = await assets.forceFetch(name);
    ctx.vary('Accept-Encoding');
    const isPacked = ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
    if (isPacked) ctx.set('Content-Encoding', 'gzip');
    send(ctx, type, isPacked ? packed : plain);
  };

interface Tagged {
  readonly bytes: Buffer;
  readonly tag: string;
}

const tagged = (bytes: Buffer): Tagged => ({ bytes, tag: etag(bytes) });

const send = (ctx: Context, type: string, { bytes, tag }: Tagged): void => {
  ctx.status = 200;
  ctx.type = type;
  ctx.set('Cache-Control', 'no-cache');
  sendTagged(ctx, bytes, tag);
};
