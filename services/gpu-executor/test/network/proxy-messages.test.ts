import { describe, expect, it } from 'vitest';
import { endToEndHeaders, requestTarget, tunnelTarget } from '../../src/network/proxy-messages.decide.ts';

describe('the headers that a proxy passes on', () => {
  it('are those of the message, in their order, and not those of one connection', () => {
    const raw = `Host a.example Connection close,X-Hop X-Hop 1 Accept */* Proxy-Authorization x
      Proxy-Connection keep-alive Cookie a Cookie b`.split(/\s+/);
    expect(endToEndHeaders(raw, ['host'])).toEqual(['Accept', '*/*', 'Cookie', 'a', 'Cookie', 'b']);
  });
});

describe('the target of a request to a proxy', () => {
  it.each([
    ['a.example:443', 'http://a.example:443/'],
    ['a.example:80', 'http://a.example/'],
    ['[::1]:8080', 'http://[::1]:8080/'],
    ['0x7f.1:443', 'http://127.0.0.1:443/'],
    ['a.example', null],
    ['a.example:', null],
    ['a.example:443/x', null],
    ['user@a.example:443', null],
    ['a.example:70000', null],
    ['::1:443', null],
  ])('of CONNECT %s is %s', (authority, target) => {
    expect(tunnelTarget(authority)?.href ?? null).toBe(target);
  });

  it.each([
    ['http://a.example/x?y', 'http://a.example/x?y'],
    ['HTTP://a.example:8080', 'http://a.example:8080/'],
    ['https://a.example/', null],
    ['/x', null],
    ['*', null],
    ['http://', null],
  ])('of any other, %s, is %s', (text, target) => {
    expect(requestTarget(text)?.href ?? null).toBe(target);
  });
});
