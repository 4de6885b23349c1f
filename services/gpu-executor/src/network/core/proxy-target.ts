/** Where a client of a proxy wants to go. Both have the scheme http, because the proxy itself adds no TLS. */
type Target = URL | null;

/** Of CONNECT: `host:port`. Null for anything else. */
export const tunnelTarget = (authority: string): Target =>
  /^[^\s/?#@\\]+:\d{1,5}$/.test(authority) ? URL.parse(`http://${authority}/`) : null;

/** Of any other request: an absolute http URL. Null for anything else, such as the path that a server gets. */
export const requestTarget = (text: string): Target => (/^http:\/\//i.test(text) ? URL.parse(text) : null);
