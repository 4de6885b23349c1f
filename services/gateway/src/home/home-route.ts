import type { Context } from 'koa';
import packageJson from '../../package.json' with { type: 'json' };
import { sendTagged } from '../http/entity-tag.ts';
import type { PlainRoute } from '../http/plain-route.ts';
import { homeDocument, homeLinks } from './home-links.ts';
import { HOME_POLICY, homePage } from './home-page.ts';

export interface HomeRoute {
  readonly basePath: string;
  /** The address as clients know it, without a slash at the end. */
  readonly publicUrl: () => string;
  /** Undefined where the console is off. */
  readonly consolePath: string | undefined;
}

/** `GET /`: a page for people, and its links as JSON for clients that accept no HTML. It needs no key. */
export const homeRoute = ({ basePath, publicUrl, consolePath }: HomeRoute): PlainRoute => ({
  method: 'GET',
  path: '/',
  serve: async (ctx: Context) => {
    const links = homeLinks(publicUrl(), basePath, packageJson.version, consolePath);
    const isJson = ctx.accepts('html', 'json') === 'json';
    ctx.status = 200;
    ctx.vary('Accept');
    ctx.set('Cache-Control', 'no-cache');
    ctx.type = isJson ? 'application/json' : 'text/html';
    if (!isJson) ctx.set('Content-Security-Policy', HOME_POLICY);
    sendTagged(ctx, isJson ? JSON.stringify(homeDocument(links)) : homePage(links, basePath, consolePath));
  },
});
