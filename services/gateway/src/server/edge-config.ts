import { isIP } from 'node:net';
import { list } from '@runledger/service-kit/config/config-schemas';
import { compile } from 'proxy-addr';
import { Type } from 'typebox';

const MAX_ENTRIES = 1_024;

/** An origin as browsers write it: the scheme, the host in lower case, and the port unless it is the scheme's own. */
const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  // A host with a star would be read as a name that no page has.
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text && !text.includes('*');
};

const RANGES: ReadonlySet<string> = new Set(['loopback', 'linklocal', 'uniquelocal']);

/** Stricter than the library, which reads `10` as 0.0.0.10. The library refuses a network of all addresses, such as 0.0.0.0/0. */
const isProxy = (text: string): boolean => {
  if (RANGES.has(text)) return true;
  if (isIP(text.split('/', 1)[0] ?? '') === 0) return false;
  try {
    compile(text);
    return true;
  } catch {
    return false;
  }
};

/** The environment variables of the edge: to spread into the configuration schema. */
export const edgeConfig = {
  RUNLEDGER_CORS_ORIGINS: list(
    Type.Refine(
      Type.String({ maxLength: 300 }),
      (text) => text === '*' || isOrigin(text),
      () => 'is neither * nor an exact origin: no path, no slash at the end, no capitals, no port 80 or 443',
    ),
    {
      default: [],
      maxItems: MAX_ENTRIES,
      description:
        'the origins whose pages may call the API from a browser, for example https://app.example.com; * for all; empty for none',
    },
  ),
  RUNLEDGER_TRUSTED_PROXIES: list(
    Type.Refine(
      Type.String({ maxLength: 100 }),
      isProxy,
      () => 'is neither an IP address, nor a network, nor loopback, linklocal or uniquelocal',
    ),
    {
      default: [],
      maxItems: MAX_ENTRIES,
      description:
        'the proxies whose X-Forwarded-For is trusted for the address of a client, in the log and as the last use of its key, for example loopback, 10.0.0.5, 10.1.0.0/16; empty for none',
    },
  ),
};
