import { readFile } from 'node:fs/promises';
import type { Context } from 'koa';
import { contentOf, ownFiles, sendContent, type Content } from '../content/content.ts';
import type { PlainRoute } from '../http/plain-route.ts';
import { noSuchPath } from '../names/no-such-path.ts';
import { PAGE, type ConsoleFile } from './console-files.ts';

/** Where the console is. */
export const CONSOLE_PATH = '/console';

/** Scripts and styles are files of this gateway. Pictures may also be made by the page, such as from a file that was dropped on it. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Their names change with their content. */
const FOREVER = 'public, max-age=31536000, immutable';
const HASHED = /^assets\//;

/** The page at each address below `/console`, and the files that it loads. They need no key: what they show, the API tells. */
export const consoleRoutes = (files: ReadonlyMap<string, ConsoleFile>, basePath: string): PlainRoute[] => {
  const kept = ownFiles(files.size);
  let page: Promise<Content> | undefined;
  const serve = async (ctx: Context): Promise<void> => {
    const name = ctx.path.slice(CONSOLE_PATH.length + 1);
    const file = files.get(name);
    if (file !== undefined && name !== PAGE) {
      sendContent(ctx, await kept(file));
      if (HASHED.test(name)) ctx.set('Cache-Control', FOREVER);
      return;
    }
    // An old page may ask for a script that a newer release does not have.
    if (HASHED.test(name)) throw noSuchPath(ctx);
    page ??= pageOf(files, basePath);
    ctx.set('Content-Security-Policy', POLICY);
    sendContent(ctx, await page);
  };
  return [CONSOLE_PATH, `${CONSOLE_PATH}/{*path}`].map((path) => ({ method: 'GET', path, serve }));
};

/** It has the base path of the API of this gateway. */
const pageOf = async (files: ReadonlyMap<string, ConsoleFile>, basePath: string): Promise<Content> => {
  const html = await readFile(String(files.get(PAGE)?.path), 'utf8');
  return contentOf('text/html', Buffer.from(html.replace('data-api="/api"', `data-api="${basePath}"`)));
};
