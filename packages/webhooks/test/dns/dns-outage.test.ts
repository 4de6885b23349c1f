import { describe, expect, it } from 'vitest';
import { dnsOutage } from '../../src/dns/dns-outage.ts';

const NOTHING = [{ code: 'ETIMEOUT' }, { code: 'ETIMEOUT' }];

describe('the silence of all DNS servers', () => {
  it('is total after 30 s in which two names were asked in vain', () => {
    let now = 0;
    const silence = dnsOutage(() => now);
    silence.asked();
    silence.heard('a.example', NOTHING);
    silence.heard('b.example', NOTHING);
    now = 29_999;
    expect(silence.isTotal()).toBe(false);
    now = 30_000;
    expect(silence.isTotal()).toBe(true);
  });

  it('is not total for one name alone', () => {
    let now = 0;
    const silence = dnsOutage(() => now);
    silence.asked();
    silence.heard('a.example', NOTHING);
    now = 60_000;
    silence.asked();
    silence.heard('a.example', NOTHING);
    expect(silence.isTotal()).toBe(false);
  });

  it.each(['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'EREFUSED'])(
    'ends with an answer of any kind: %s',
    (code) => {
      let now = 0;
      const silence = dnsOutage(() => now);
      silence.asked();
      silence.heard('a.example', NOTHING);
      silence.heard('b.example', NOTHING);
      now = 60_000;
      silence.heard('c.example', [{ code: 'ETIMEOUT' }, { code }]);
      expect(silence.isTotal()).toBe(false);
    },
  );

  it('begins with a question, not with the hours in which nobody asked', () => {
    let now = 0;
    const silence = dnsOutage(() => now);
    silence.asked();
    silence.heard('a.example', [{ addresses: ['192.0.2.1'] }]);
    now = 3_600_000;
    silence.asked();
    now += 5_000;
    silence.heard('b.example', NOTHING);
    silence.heard('c.example', NOTHING);
    expect(silence.isTotal()).toBe(false);
  });
});
