import { readConfig } from '@runledger/service-kit/config';
import { checkCallbackUrl } from '../src/callback-policy.ts';
import { policyConfig, policyFromConfig } from '../src/policy-config.ts';
import { Type } from 'typebox';
import { describe, expect, it } from 'vitest';

const schema = Type.Object(policyConfig);

const isAllowed = (url: string, env: Record<string, string>, moreOwn?: readonly string[]): boolean =>
  checkCallbackUrl(url, policyFromConfig(readConfig(schema, env), moreOwn)).ok;

describe('the settings of the webhook policy', () => {
  it('allow only public addresses at four ports if they are unset or empty', () => {
    for (const env of [{}, { RUNLEDGER_WEBHOOK_ALLOW: '' }]) {
      expect(readConfig(schema, env)).toEqual({
        RUNLEDGER_WEBHOOK_ALLOW: [],
        RUNLEDGER_WEBHOOK_PORTS: [80, 443, 8080, 8443],
        RUNLEDGER_WEBHOOK_OWN_SERVICES: [],
        RUNLEDGER_DNS_SERVERS: [],
      });
      expect(isAllowed('http://127.0.0.1/', env)).toBe(false);
      expect(isAllowed('https://example.com:8443/', env)).toBe(true);
    }
  });

  it('are lists', () => {
    const env = {
      RUNLEDGER_WEBHOOK_ALLOW: 'loopback, hooks.corp, 10.1.0.0/16, fd00::/8',
      RUNLEDGER_WEBHOOK_PORTS: '9000',
      RUNLEDGER_WEBHOOK_OWN_SERVICES: '10.1.0.9:4222,[fd00::1]:27017',
      RUNLEDGER_DNS_SERVERS: '10.0.0.2, [fd00::2]:5353',
    };
    expect(isAllowed('http://hooks.corp/', env)).toBe(true);
    expect(isAllowed('http://10.1.0.9/', env)).toBe(true);
    expect(isAllowed('http://10.1.0.9:4222/', env)).toBe(false);
    expect(isAllowed('http://[fd00::1]:27017/', env)).toBe(false);
    expect(isAllowed('https://example.com/', env)).toBe(false);
    expect(isAllowed('https://example.com:9000/', env)).toBe(true);
  });

  it('include the services of other settings', () => {
    const env = { RUNLEDGER_WEBHOOK_ALLOW: 'loopback' };
    expect(isAllowed('http://127.0.0.1:4222/', env)).toBe(true);
    expect(isAllowed('http://127.0.0.1:4222/', env, ['localhost:4222'])).toBe(false);
  });

  it.each([
    [
      'RUNLEDGER_WEBHOOK_ALLOW',
      'a.example,*.b.example',
      /number 2\) that is neither loopback, nor a host name/,
    ],
    ['RUNLEDGER_WEBHOOK_PORTS', '80,0', /number 2\)/],
    ['RUNLEDGER_WEBHOOK_OWN_SERVICES', 'http://a', /is neither host:port nor a host/],
    ['RUNLEDGER_DNS_SERVERS', 'dns.example', /is not an IP address, with or without a port/],
  ])('%s says what is wrong with %s', (variable, text, wrong) => {
    expect(() => readConfig(schema, { [variable]: text })).toThrow(variable);
    expect(() => readConfig(schema, { [variable]: text })).toThrow(wrong);
  });
});
