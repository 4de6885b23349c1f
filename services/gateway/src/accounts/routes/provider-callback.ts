import { CONSOLE_PATH } from '../../console/console-routes.ts';
import type { PlainRoute } from '../../http/plain-route.ts';

export interface ProviderCallback {
  readonly basePath: string;
  /** The address for browsers, without a slash at the end. */
  readonly publicUrl: () => string;
}

const PATH = '/session/oidc/callback';

/** The address to register at the provider. `publicUrl`: without a slash at the end. */
export const redirectUri = (
  publicUrl: string,
  { RUNLEDGER_BASE_PATH }: { readonly RUNLEDGER_BASE_PATH: string },
): string => `${publicUrl}${RUNLEDGER_BASE_PATH}${PATH}`;

const SEE_OTHER = 303;

/**
 * `GET /session/oidc/callback`: a browser comes back from the provider. Nobody is signed in here: the browser may have been led by any page.
 * It is led to our own page with the answer of the provider in the fragment, which no server gets, and the page finishes what it began.
 */
export const providerCallback = ({ basePath, publicUrl }: ProviderCallback): PlainRoute => ({
  method: 'GET',
  path: `${basePath}${PATH}`,
  serve: async (ctx) => {
    ctx.status = SEE_OTHER;
    ctx.set(
      'Location',
      `${publicUrl()}${CONSOLE_PATH}/sign-in#answer=${encodeURIComponent(ctx.querystring)}`,
    );
  },
});
