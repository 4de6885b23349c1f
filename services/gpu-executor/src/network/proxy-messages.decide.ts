/** Headers of one connection, and not of the message (RFC 9110, 7.6.1), and those that the executor answers or adds itself. */
const OF_ONE_CONNECTION = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]);

/** What a proxy passes on of `rawHeaders`, in which names and values alternate, in the same form. `more` are names that it drops too. */
export const endToEndHeaders = (raw: readonly string[], more: readonly string[] = []): string[] => {
  const pairs = raw.flatMap((name, index) =>
    index % 2 === 0 ? [[name, raw[index + 1] ?? ''] as const] : [],
  );
  const named = pairs
    .filter(([name]) => name.toLowerCase() === 'connection')
    .flatMap(([, value]) =>
      value
        .toLowerCase()
        .split(',')
        .map((each) => each.trim()),
    );
  const dropped = new Set([...OF_ONE_CONNECTION, ...named, ...more]);
  return pairs.flatMap(([name, value]) => (dropped.has(name.toLowerCase()) ? [] : [name, value]));
};

/** Where a client of a proxy wants to go. Both have the scheme http, because the proxy itself adds no TLS. */
type Target = URL | null;

/** Of CONNECT: `host:port`. Null for anything else. */
export const tunnelTarget = (authority: string): Target =>
  /^[^\s/?#@\\]+:\d{1,5}$/.test(authority) ? URL.parse(`http://${authority}/`) : null;

/** Of any other request: an absolute http URL. Null for anything else, such as the path that a server gets. */
export const requestTarget = (text: string): Target => (/^http:\/\//i.test(text) ? URL.parse(text) : null);
