import { readFile, readdir } from 'node:fs/promises';
import { extname, join, relative, sep } from 'node:path';
import type { Context } from 'koa';
import { ConfigError } from '@runledger/service-kit/config';
import { Type } from 'typebox';
import { contentOf, ownFiles, sendContent, type Content } from '../files/content.ts';
import type { PlainRoute } from '../door/operation.ts';
import { noSuchPath } from '../door/refusal.ts';

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

/** The page of the console. Whatever its address, it shows what belongs there. */
const PAGE = 'index.html';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

export interface ConsoleFile {
  readonly path: string;
  /** Its media type. */
  readonly type: string;
}

/**
 * The built files of the console by their paths below `/console/`, undefined if the setting is `off`.
 * @throws ConfigError that says how to build them, if they are not in the folder that it names
 */
export const consoleFiles = async (folder: string): Promise<ReadonlyMap<string, ConsoleFile> | undefined> => {
  if (folder === 'off') return undefined;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    (error: Error) => error,
  );
  const files = new Map(
    (entries instanceof Error ? [] : entries)
      .filter((entry) => entry.isFile() && TYPES[extname(entry.name)] !== undefined)
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        const name = relative(folder, path).split(sep).join('/');
        return [name, { path, type: String(TYPES[extname(name)]) }];
      }),
  );
  if (files.has(PAGE)) return files;
  const why = entries instanceof Error ? entries.message : `it has no ${PAGE}`;
  throw new ConfigError([
    {
      variable: 'RUNLEDGER_CONSOLE',
      wrong: `names ${folder}, which is no built console (${why})`,
      right: 'off, or the folder that npm run build --workspace apps/console has made: apps/console/dist',
    },
  ]);
};

/** The environment variable of the console: to spread into the configuration schema. */
export const consoleConfig = {
  RUNLEDGER_CONSOLE: Type.String({
    default: 'off',
    minLength: 1,
    description:
      'the folder with the built files of the console, which is served under /console; off for no console',
  }),
};
