import { createHash } from 'node:crypto';
import type { Context } from 'koa';
import packageJson from '../../package.json' with { type: 'json' };
import { sendTagged } from '../door/responses.ts';
import type { PlainRoute } from '../door/operation.ts';
import { REFERENCE } from './reference.ts';
import type { Kit } from '../kit.ts';

/**
 * `GET /`: a page for people, and its links as JSON for clients that accept no HTML. It needs no key. Without `consolePath` the console is
 * off.
 */
export const homeRoute = (
  { config: { RUNLEDGER_BASE_PATH: basePath }, publicUrl }: Kit,
  consolePath: string | undefined,
): PlainRoute => ({
  method: 'GET',
  path: '/',
  serve: async (ctx: Context) => {
    const api = `${publicUrl()}${basePath}`;
    const links = {
      name: 'Runledger',
      version: packageJson.version,
      api,
      reference: `${api}/docs`,
      openapi: `${api}/openapi.json`,
      ...(consolePath !== undefined && { console: `${publicUrl()}${consolePath}` }),
    };
    const isJson = ctx.accepts('html', 'json') === 'json';
    ctx.status = 200;
    ctx.vary('Accept');
    ctx.set('Cache-Control', 'no-cache');
    ctx.type = isJson ? 'application/json' : 'text/html';
    if (!isJson) ctx.set('Content-Security-Policy', HOME_POLICY);
    sendTagged(ctx, isJson ? JSON.stringify(links) : homePage(links, basePath, consolePath));
  },
});

/** The pages of the repository for those who use the API, and for those who run it. */
const PAGES: readonly (readonly [file: string, title: string])[] = [
  ['docs/run-api.md', 'A session with the run API'],
  ['docs/clients.md', 'Clients in TypeScript and Python'],
  ['docs/your-own-workflow.md', 'Your own workflow'],
  ['docs/errors.md', 'Errors, and what to do about each'],
  ['docs/debugging.md', 'Debugging a run'],
  ['docs/operations.md', 'Running Runledger'],
  ['docs/settings.md', 'Settings'],
];

const STYLE = `
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2329; --quiet: #4d5863; --soft: #f1f4f7; --line: #d8dee4; --accent: #0b5a94; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181c; --ink: #e4e8ec; --quiet: #b4bdc6; --soft: #1f252b; --line: #39424c; --accent: #7dbdf2; }
}
body { margin: 0; padding: 40px 20px; color: var(--ink); background: var(--paper); font: 17px/1.6 system-ui, sans-serif; }
main { max-width: 640px; margin: 0 auto; }
h1 { margin: 0; font-size: 32px; line-height: 1.2; }
h2 { margin: 40px 0 8px; font-size: 20px; line-height: 1.3; }
p { margin: 8px 0; }
a { color: var(--accent); text-underline-offset: 3px; }
.quiet { color: var(--quiet); }
.first { display: flex; flex-wrap: wrap; gap: 12px; margin: 24px 0 0; padding: 0; list-style: none; }
.first a { display: block; padding: 10px 18px; border: 1px solid var(--accent); border-radius: 4px; text-decoration: none; }
.first li:first-child a { color: var(--paper); background: var(--accent); }
pre { margin: 12px 0; padding: 14px 16px; overflow-wrap: anywhere; white-space: pre-wrap; border: 1px solid var(--line); border-radius: 4px; background: var(--soft); line-height: 1.5; }
code { font: 15px ui-monospace, 'Liberation Mono', Menlo, monospace; }
dl { margin: 8px 0; }
dt { margin-top: 10px; }
dd { margin: 0; color: var(--quiet); overflow-wrap: anywhere; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`;

/** Only its own style is allowed. */
const HOME_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'`;

/** What is here, and where to go on. It needs no script. Links stay on the host by whose name the reader came. */
const homePage = (
  { version, api }: { readonly version: string; readonly api: string },
  basePath: string,
  consolePath: string | undefined,
): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Runledger</title>
    <link rel="icon" href="${basePath}${REFERENCE.icon}" />
    <style>${STYLE}</style>
  </head>
  <body>
    <main>
      <h1>Runledger</h1>
      <p>This server runs deployed workflows on GPU machines. Programs queue runs, follow them and cancel them over its HTTP API.</p>
      <p class="quiet">Version ${escaped(version)}</p>
      <ul class="first">
${consolePath === undefined ? '' : `        <li><a href="${consolePath}">Console</a></li>\n`}        <li><a href="${basePath}${REFERENCE.page}">Reference of the API</a></li>
        <li><a href="${basePath}/openapi.json">openapi.json</a></li>
      </ul>
      <h2>The first request</h2>
      <p>Put your API key into a variable. Nothing is shown while you paste it:</p>
      <pre><code>read -rs RUNLEDGER_API_KEY</code></pre>
      <p>Then ask whose key it is:</p>
      <pre><code>curl '${escaped(api)}/whoami' \\
  --header "Authorization: Bearer $RUNLEDGER_API_KEY"</code></pre>
      <h2>The command line</h2>
      <p>In a checkout of the repository. It asks for the key, checks it, and stores it for the commands that follow:</p>
      <pre><code>npx runledger login --url '${escaped(api)}'
npx runledger runs list</code></pre>
      <h2>Pages in the repository of Runledger</h2>
      <dl>
${PAGES.map(([file, title]) => `        <dt>${title}</dt>\n        <dd><code>${file}</code></dd>`).join('\n')}
      </dl>
    </main>
  </body>
</html>
`;

/** As text of HTML. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
