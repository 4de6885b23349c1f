import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { returnPath } from '../../../../src/accounts/oidc/core/return-path.ts';

const HOME = '/console';

describe('the page after a sign-in', () => {
  it('is the one that was wanted, with its query and fragment', () => {
    for (const wanted of [
      HOME,
      '/console/runs',
      '/console/runs?status=failed&q=a%20b',
      '/console/run/1#logs',
    ])
      expect(returnPath(wanted, HOME)).toBe(wanted);
  });

  it('is the first page for anything else', () => {
    const others = [
      undefined,
      '',
      'console/runs',
      'https://evil.example/console',
      '//evil.example/console',
      String.raw`/\evil.example/console`,
      '/\t/evil.example/console',
      '/console/../api/runs',
      '/console/%2e%2e/api/runs',
      '/consoles',
      '/api/runs',
      'javascript:alert(1)',
    ];
    for (const wanted of others) expect([wanted, returnPath(wanted, HOME)]).toEqual([wanted, HOME]);
  });

  it('is below the first page of this server, whatever was wanted', () => {
    const parts = fc.constantFrom(
      '/',
      '\\',
      '.',
      '%2e',
      '@',
      ':',
      '?',
      '#',
      'console',
      'evil.example',
      '\t',
      '\n',
      'https:',
    );
    const wanted = fc.oneof(
      fc.string(),
      fc.array(parts).map((all) => `/console${all.join('')}`),
      fc.array(parts).map((all) => all.join('')),
    );
    fc.assert(
      fc.property(wanted, (text) => {
        const url = new URL(`https://runs.example${returnPath(text, HOME)}`);
        expect([url.origin, /^\/console(?:\/|$)/.test(url.pathname)]).toEqual(['https://runs.example', true]);
      }),
    );
  });
});
