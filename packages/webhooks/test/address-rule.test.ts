import { casesOf } from '@runledger/testing/random/cases';
import { isIPv4 } from 'node:net';
import { canonicalAddress, networks, whyNotPublic } from '../src/hosts.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

/** Bits of an address as a number, with how many there are, and back: without node:net, as a second opinion. */
const ipv4Text = (bits: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => (bits >> shift) & 0xffn).join('.');
const ipv6Text = (bits: bigint): string =>
  [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => ((bits >> shift) & 0xffffn).toString(16)).join(':');
const text = (bits: bigint, wide: number): string => (wide === 32 ? ipv4Text(bits) : ipv6Text(bits));

/** Network, bits that count, bits in all. */
type Block = readonly [bits: bigint, prefix: number, wide: 32 | 128];

const special: readonly Block[] = [
  [0x00000000n, 8, 32],
  [0x0a000000n, 8, 32],
  [0x64400000n, 10, 32],
  [0x7f000000n, 8, 32],
  [0xa83f8110n, 32, 32],
  [0xa9fe0000n, 16, 32],
  [0xac100000n, 12, 32],
  [0xc0000000n, 24, 32],
  [0xc0000200n, 24, 32],
  [0xc0586300n, 24, 32],
  [0xc0a80000n, 16, 32],
  [0xc6120000n, 15, 32],
  [0xc6336400n, 24, 32],
  [0xcb007100n, 24, 32],
  [0xe0000000n, 4, 32],
  [0xf0000000n, 4, 32],
  [0x0n, 3, 128],
  [0b010n << 125n, 3, 128],
  [0b011n << 125n, 3, 128],
  [0b1n << 127n, 1, 128],
  [0x2001_0000n << 96n, 23, 128],
  [0x2001_0db8n << 96n, 32, 128],
  [0x2002_0000n << 96n, 16, 128],
  [0x2620_004f_8000n << 80n, 48, 128],
  [0x3fff_0000n << 96n, 20, 128],
];

const within = ([bits, prefix, wide]: Block): fc.Arbitrary<string> =>
  fc.bigInt({ min: 0n, max: (1n << BigInt(wide - prefix)) - 1n }).map((rest) => text(bits + rest, wide));

const ipv4 = fc.bigInt({ min: 0n, max: 0xffff_ffffn }).map(ipv4Text);
/** Less ::ffff:0:0/96, which is IPv4 in another spelling. */
const ipv6 = fc
  .bigInt({ min: 0n, max: (1n << 128n) - 1n })
  .filter((bits) => bits >> 32n !== 0xffffn)
  .map(ipv6Text);

describe('the address rule', () => {
  it('treats no address of a special block as public', () => {
    const inSpecialBlock = fc
      .constantFrom(...special)
      .chain(within)
      .filter((one) => !one.startsWith('0:0:0:0:0:ffff:'));
    fc.assert(
      fc.property(inSpecialBlock, (address) => {
        expect(whyNotPublic(address), address).toBeTypeOf('string');
      }),
      { numRuns: casesOf(400) },
    );
  });

  it('treats the first and the last address of each special block as not public', () => {
    for (const [bits, prefix, wide] of special) {
      const last = bits + (1n << BigInt(wide - prefix)) - 1n;
      expect(whyNotPublic(text(bits, wide)), text(bits, wide)).toBeTypeOf('string');
      expect(whyNotPublic(text(last, wide)), text(last, wide)).toBeTypeOf('string');
    }
  });

  it('treats the neighbours of special blocks as public', () => {
    const neighbours =
      '1.0.0.0 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 168.63.129.15 168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 191.255.255.255 192.0.1.0 192.0.3.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 198.51.99.255 203.0.114.0 223.255.255.255 2000:: 2001:200:: 2001:db7::1 2001:db9::1 2003::1 2606:4700:4700::1111 2a00:1450::1 3ffe::1 3fff:1000::1';
    expect(neighbours.split(' ').map((address) => [address, whyNotPublic(address)])).toEqual(
      neighbours.split(' ').map((address) => [address, undefined]),
    );
  });

  it.each([
    ['::127.0.0.1', 'outside 2000::/3'],
    ['::a9fe:a9fe', 'outside 2000::/3'],
    ['4000::1', 'outside 2000::/3'],
    ['64:ff9b::8.8.8.8', 'outside 2000::/3'],
    ['168.63.129.16', 'metadata of a cloud, 168.63.129.16/32'],
    ['::ffff:127.0.0.1', 'loopback, 127.0.0.0/8'],
    ['100.100.100.200', 'shared by carriers, and metadata of some clouds, 100.64.0.0/10'],
    ['fd00:ec2::254', 'outside 2000::/3'],
  ])('recognises %s, which filters are known to miss', (address, why) => {
    expect(whyNotPublic(address)).toBe(why);
  });

  it('treats an IPv4-mapped address as its IPv4 address, in every spelling', () => {
    fc.assert(
      fc.property(ipv4, (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
        const words = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        for (const mapped of [`::ffff:${address}`, `::ffff:${words}`, `[0:0:0:0:0:FFFF:${words}]`]) {
          expect(canonicalAddress(mapped)).toBe(address);
          expect(whyNotPublic(mapped)).toBe(whyNotPublic(address));
        }
      }),
    );
  });
});

describe('the canonical spelling of an address', () => {
  it('is unchanged', () => {
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6), (address) => {
        const canonical = canonicalAddress(address);
        expect(canonicalAddress(canonical ?? '')).toBe(canonical);
        expect(isIPv4(canonical ?? '')).toBe(isIPv4(address));
      }),
    );
  });

  it.each(['', 'example.com', '1.2.3', '0x7f.1', '[1.2.3.4]', 'fe80::1%eth0', '::1]', '1.2.3.4:80'])(
    'does not exist for %j',
    (text) => {
      expect(canonicalAddress(text)).toBeUndefined();
      expect(whyNotPublic(text)).toBe('not an IP address');
    },
  );
});

describe('networks', () => {
  it.each([
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.0.0.1/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '10.1.2.4', false],
    ['0.0.0.0/0', '8.8.8.8', true],
    ['0.0.0.0/0', '::1', false],
    ['::/0', 'fd00::1', true],
    ['::/0', '10.0.0.1', false],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '11.1.2.3', false],
    ['fd00::/8', 'fdff::1', true],
  ])('%s holds %s: %s', (network, address, holds) => {
    expect(networks([network]).includes(address)).toBe(holds);
  });

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10/8',
    '::/129',
    '::ffff:0:0/90',
    'a.b/8',
    '10.0.0.0/-1',
    '/8',
  ])('cannot be read from %s', (text) => {
    expect(() => networks([text])).toThrow(/is not a network: write an IP address, or .* 10\.1\.0\.0\/16/);
  });
});
