import { describe, expect, it } from 'vitest';
import { dnsOutage } from '../src/name-resolver.ts';

const NOTHING = [{ code: 'ETIMEOUT' }, { code: 'ETIMEOUT' }];

describe('an outage of all DNS servers', () => {
  it('is total after 30 s without a response for two names', () => {
    let now = 0;
    const silence = dnsOutage(() => now);
    silence.queried();
    silence.answered('a.example', NOTHING);
    silence.answered('b.example', NOTHING);
    now = 29_999;
    expect(silence.isTotal()).toBe(false);
    now = 30_000;
    expect(silence.isTotal()).toBe(true);
  });

  it('is not total with a single name', () => {
    let now = 0;
    const silence = dnsOutage(() => now);
    silence.queried();
    silence.answered('a.example', NOTHING);
    now = 60_000;
    silence.queried();
    silence.answered('a.example', NOTHING);
    expect(silence.isTotal()).toBe(false);
  });

  it.each(['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'EREFUSED'])('ends with every kind of answer: %s', (code) => {
    let now = 0;
    const silence = dnsOutage(() => now);
    silence.queried();
    silence.answered('a.example', NOTHING);
    silence.answered('b.example', NOTHING);
    now = 60_000;
    silence.answered('c.example', [{ code: 'ETIMEOUT' }, { code }]);
    expect(silence.isTotal()).toBe(false);
  });

  it('begins with a query, not with the last answer', () => {
    let now = 0;
    const silence = dnsOutage(() => now);
    silence.queried();
    silence.answered('a.example', [{ addresses: ['192.0.2.1'] }]);
    now = 3_600_000;
    silence.queried();
    now += 5_000;
    silence.answered('b.example', NOTHING);
    silence.answered('c.example', NOTHING);
    expect(silence.isTotal()).toBe(false);
  });
});
