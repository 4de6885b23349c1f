/** On every response, also on those that Node would write by itself. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'API-Version': 'V2',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};
