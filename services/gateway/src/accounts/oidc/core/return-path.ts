/** No address that anybody opens has it. */
const ORIGIN = 'https://runledger.invalid';

/**
 * The path, query and fragment to which a browser returns after a sign-in: `wanted`, as a browser would read it, if it is a page below
 * `home` of this server, and `home` otherwise. So a link cannot lead to another site.
 */
export const returnPath = (wanted: string | undefined, home: string): string => {
  if (wanted === undefined || !wanted.startsWith('/')) return home;
  const url = URL.parse(wanted, ORIGIN);
  if (url?.origin !== ORIGIN) return home;
  const isBelow = url.pathname === home || url.pathname.startsWith(`${home}/`);
  return isBelow ? url.pathname + url.search + url.hash : home;
};
