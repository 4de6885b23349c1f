import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cookieUse, requestSource } from '../../../src/auth/core/request-source.ts';

const PUBLIC = 'https://runs.example.com';
const HOST = '127.0.0.1:8080';
const OURS = [PUBLIC, `http://${HOST}`, `https://${HOST}`];

const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS');
const site = fc.constantFrom(undefined, 'same-origin', 'same-site', 'cross-site', 'none', 'else');
const origin = fc.oneof(
  fc.constantFrom(undefined, ...OURS),
  fc.constantFrom(
    'null',
    '',
    'https://evil.example',
    `${PUBLIC}.evil.example`,
    `${PUBLIC}:8443`,
    PUBLIC.toUpperCase(),
  ),
  fc.webUrl({ withQueryParameters: false }),
);
const sent = fc.record({ secFetchSite: site, origin, host: fc.constantFrom(HOST, undefined) });

describe('the cookie of a session', () => {
  it('permits a change exactly where a page of this server is proven to have sent it', () => {
    fc.assert(
      fc.property(method, sent, (given, headers) => {
        const known = headers.host === undefined ? [PUBLIC] : OURS;
        const isProven =
          headers.secFetchSite === undefined
            ? headers.origin !== undefined && known.includes(headers.origin)
            : headers.secFetchSite === 'same-origin';
        const reads = given === 'GET' || given === 'HEAD';
        const others = reads ? ['accepted', 'ignored'] : ['refused'];
        expect(isProven ? ['accepted'] : others).toContain(cookieUse(given, requestSource(headers, PUBLIC)));
      }),
    );
  });

  it('never counts for a request of another site', () => {
    fc.assert(
      fc.property(
        method,
        sent.filter(
          ({ secFetchSite, origin: from }) =>
            ['same-site', 'cross-site'].includes(String(secFetchSite)) ||
            (secFetchSite === undefined && from !== undefined && !OURS.includes(from)),
        ),
        (given, headers) => {
          expect(cookieUse(given, requestSource(headers, PUBLIC))).not.toBe('accepted');
        },
      ),
    );
  });

  it('counts for what a person opens, which no page sent', () => {
    expect(
      cookieUse('GET', requestSource({ secFetchSite: 'none', origin: undefined, host: HOST }, undefined)),
    ).toBe('accepted');
    expect(
      cookieUse('GET', requestSource({ secFetchSite: undefined, origin: undefined, host: HOST }, undefined)),
    ).toBe('accepted');
  });
});
