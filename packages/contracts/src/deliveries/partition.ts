/** Partitions of the origins. One notifier at a time owns each. The number never changes: it is part of the subjects. */
export const PARTITIONS = 16;

/** Scheme, host and port: `https://example.com`, `http://[::1]:8080`. A dot at the end of the name changes nothing. */
export const originOf = (url: URL): string => url.origin.replace(/\.(?=(?::\d+)?$)/, '');

/** The partition of an origin, 0 to 15: the highest four bits of its FNV-1a hash (RFC 9923). */
export const partitionOf = (origin: string): number =>
  new TextEncoder().encode(origin).reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5) >>>
  28;
