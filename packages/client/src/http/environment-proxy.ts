/** `fetch` through the proxy that the environment names. Bun and Deno do this by themselves, and browsers have their settings. */
import type * as Undici from 'undici';
import { RunledgerError } from '../errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Node, seen from code that browsers load too. */
interface Host {
  readonly process?: {
    readonly env?: Environment;
    readonly versions?: Readonly<Record<string, string | undefined>>;
    readonly getBuiltinModule?: (id: 'node:module') => {
      readonly createRequire: (path: string) => (name: string) => unknown;
    };
    readonly cwd?: () => string;
  };
  readonly Deno?: unknown;
}

const host = globalThis as Host;

/** Browsers have none. */
export const environment = (): Environment => host.process?.env ?? {};

const isNode = (): boolean => {
  const { versions } = host.process ?? {};
  return versions?.['node'] !== undefined && versions['bun'] === undefined && host.Deno === undefined;
};

/**
 * The `fetch` of this runtime for requests to `url`; in Node with the proxy of the environment. The global one is looked up at each
 * call, so that what is replaced later counts.
 */
export const fetchTo = (url: URL): typeof fetch => {
  const proxy = isNode() ? proxyOf(url, environment()) : undefined;
  // Browsers want it called without `this`.
  if (proxy === undefined) return (input, init) => fetch(input, init);
  const address = checkedProxy(proxy);
  let made: Promise<typeof fetch> | undefined;
  return async (input, init) => (await (made ??= fetchThrough(address)))(input, init);
};

/**
 * The proxy for requests to `url`, by the rules of curl: `http_proxy` or `https_proxy` by the scheme, else `all_proxy`, unless
 * `no_proxy` names the host. Also in upper case. Loopback addresses have no rule of their own. Undefined for none.
 */
export const proxyOf = (url: URL, env: Environment): string | undefined => {
  const named = (name: string): string | undefined => env[name] ?? env[name.toUpperCase()];
  // One that is empty says that there is none.
  const proxy = named(url.protocol === 'https:' ? 'https_proxy' : 'http_proxy') ?? named('all_proxy') ?? '';
  return proxy === '' || needsNone(url.hostname, named('no_proxy') ?? '') ? undefined : proxy;
};

/** A name stands for itself and what is under it, with a dot before it or not; `*` for all; an address may have the bits of its net. */
const needsNone = (hostname: string, noProxy: string): boolean => {
  if (noProxy.trim() === '*') return true;
  const host = bare(hostname);
  return noProxy
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      const name = bare(entry);
      const net = /^([\d.]+)\/(\d{1,2})$/.exec(name);
      if (net) return isInNet(host, net[1] ?? '', Number(net[2]));
      return host === name || (isName(host) && host.endsWith(`.${name}`));
    });
};

/** Without the brackets of an IPv6 address, and the dots around a name. */
const bare = (name: string): string =>
  name
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replaceAll(/^\.|\.$/g, '');

const isName = (host: string): boolean => !host.includes(':') && numberOf(host) === undefined;

const isInNet = (host: string, net: string, bits: number): boolean => {
  const [inside, first] = [numberOf(host), numberOf(net)];
  if (inside === undefined || first === undefined || bits > 32) return false;
  const size = 2 ** (32 - bits);
  return Math.floor(inside / size) === Math.floor(first / size);
};

/** That of an IPv4 address. */
const numberOf = (address: string): number | undefined => {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(address)?.slice(1).map(Number);
  return parts?.every((part) => part <= 255) ? parts.reduce((sum, part) => sum * 256 + part, 0) : undefined;
};

/** @throws RunledgerError. It never quotes the proxy, which may have a password. */
const checkedProxy = (proxy: string): URL => {
  // As for curl, a name alone is that of an HTTP proxy.
  const text = proxy.includes('://') ? proxy : `http://${proxy}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol)) return url;
  throw new RunledgerError(
    `The environment names a proxy (HTTP_PROXY, HTTPS_PROXY or ALL_PROXY) that ${url ? `has the scheme ${url.protocol}//` : 'is no URL'}. It has the form http://host:port. Change it, name the host of Runledger in NO_PROXY, or give a fetch of your own.`,
  );
};

const fetchThrough = async (proxy: URL): Promise<typeof fetch> => {
  const undici = await loadUndici();
  const dispatcher = new undici.EnvHttpProxyAgent({
    httpProxy: proxy.href,
    httpsProxy: proxy.href,
    // Which hosts need none is decided already.
    noProxy: '',
    // As curl sends http: requests, which many proxies take only so.
    proxyTunnel: false,
  });
  // Its types are those of another release than Node's.
  const through = undici.fetch as unknown as (input: unknown, init: object) => Promise<Response>;
  return async (input, init) => {
    try {
      return await through(input, { ...init, dispatcher });
    } catch (error) {
      throw error instanceof TypeError ? throughProxy(error, proxy) : error;
    }
  };
};

/** The failure of a connection, as it names the proxy without its user. Else it looks as if the service were not there. */
const throughProxy = (error: TypeError, { protocol, host }: URL): TypeError => {
  const why = error.cause instanceof Error ? error.cause.message : error.message;
  const cause = new Error(`through the proxy ${protocol}//${host} of the environment: ${why}`, {
    cause: error.cause,
  });
  return new TypeError(error.message, { cause });
};

const loadUndici = async (): Promise<typeof Undici> => {
  // A variable, since bundlers for browsers would look for it.
  const name = 'undici';
  try {
    return (await import(
      /* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name
    )) as typeof Undici;
  } catch {
    // In what a bundler made, a name that is a variable leads nowhere: the project itself has the package.
    return fromProject(name) as typeof Undici;
  }
};

const fromProject = (name: string): unknown => {
  const { getBuiltinModule, cwd } = host.process ?? {};
  try {
    if (!getBuiltinModule || !cwd) throw new Error('this Node is too old for it');
    return getBuiltinModule('node:module').createRequire(`${cwd()}/`)(name);
  } catch (error) {
    throw new RunledgerError(
      'The environment names a proxy (HTTP_PROXY, HTTPS_PROXY or ALL_PROXY), and the package undici, which speaks to it, is not installed. Install it: npm install undici@7. Or name the host of Runledger in NO_PROXY.',
      { cause: error },
    );
  }
};
