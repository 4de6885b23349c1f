// The nkey of a user at the broker: an Ed25519 key, whose texts are base32 of a prefix, 32 bytes and a checksum
// (https://github.com/nats-io/nkeys). node:crypto signs in a tenth of a millisecond; the JavaScript of @nats-io/nkeys takes 36 ms for the
// first signature of a process, and every service signs before it does anything else.
import { createPrivateKey, createPublicKey, randomBytes, sign, type KeyObject } from 'node:crypto';
import type { Authenticator } from '@nats-io/transport-node';
import { SEED_PATTERN } from './broker-config.ts';

export interface UserKey {
  /** Secret, `SU…`. */
  readonly seed: string;
  /** `U…`, for the broker's configuration. */
  readonly publicKey: string;
}

export const newUserKey = (): UserKey => {
  const seed = textOf(SEED_OF_USER, randomBytes(KEY_BYTES));
  return { seed, publicKey: publicKeyOf(seed) };
};

/** @throws {InvalidSeed} */
export const publicKeyOf = (seed: string): string => {
  const spki = createPublicKey(privateKeyOf(seed)).export({ format: 'der', type: 'spki' });
  return textOf(PUBLIC_OF_USER, spki.subarray(-KEY_BYTES));
};

/** Answers the challenge of a broker as the holder of the seed. @throws {InvalidSeed} */
export const keyAuthenticator = (seed: string): Authenticator => {
  const [key, nkey] = [privateKeyOf(seed), publicKeyOf(seed)];
  return (nonce) => ({
    nkey,
    sig: nonce === undefined ? '' : sign(null, Buffer.from(nonce), key).toString('base64'),
  });
};

/** The text is not the seed of a user's nkey. */
export class InvalidSeed extends TypeError {
  override readonly name = 'InvalidSeed';
  readonly code = 'invalid_seed';
}

const privateKeyOf = (seed: string): KeyObject => {
  const trimmed = seed.trim();
  const bytes = new RegExp(SEED_PATTERN).test(trimmed) ? bytesOf(trimmed, SEED_OF_USER) : undefined;
  if (bytes !== undefined) {
    const der = Buffer.concat([Buffer.from(PKCS8_BEFORE_KEY, 'hex'), bytes]);
    return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  }
  // Without the text, which may be a seed with a mistake.
  throw new InvalidSeed(
    'NATS_NKEY is not the seed of a user: 58 characters that begin with SU, as "runledger broker-config" writes them into ' +
      'the file of each service. Create the file again, and configure the broker with the matching public keys.',
  );
};

const KEY_BYTES = 32;
/** So that the texts begin with SU and U. */
const SEED_OF_USER = [0x95, 0x00];
const PUBLIC_OF_USER = [0xa0];
/** RFC 8410: the DER of a private Ed25519 key, before its 32 bytes, in hexadecimal. No Buffer: browsers load this file for the simulator. */
const PKCS8_BEFORE_KEY = '302e020100300506032b657004220420';

const textOf = (prefix: readonly number[], bytes: Buffer): string => {
  const checked = Buffer.from([...prefix, ...bytes]);
  return toBase32(Buffer.concat([checked, checksumOf(checked)]));
};

/** Undefined if the prefix or the checksum is another one. */
const bytesOf = (text: string, prefix: readonly number[]): Buffer | undefined => {
  const all = fromBase32(text);
  const [start, checked] = [all.subarray(0, prefix.length), all.subarray(0, -CHECKSUM_BYTES)];
  const isRight =
    start.equals(Buffer.from(prefix)) && checksumOf(checked).equals(all.subarray(-CHECKSUM_BYTES));
  return isRight ? checked.subarray(prefix.length) : undefined;
};

const CHECKSUM_BYTES = 2;

/** CRC-16/XMODEM, the low byte first. */
const checksumOf = (bytes: Buffer): Buffer => {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc & 0x8000 ? 0x11021 : 0);
  }
  return Buffer.from([crc & 0xff, crc >> 8]);
};

/** RFC 4648, without padding. */
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

const toBase32 = (bytes: Buffer): string => {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => BASE32[parseInt(group.padEnd(5, '0'), 2)]).join('');
};

const fromBase32 = (text: string): Buffer => {
  const bits = Array.from(text, (letter) => BASE32.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((group) => parseInt(group, 2)));
};
