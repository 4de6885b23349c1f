import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const PART_BYTES = 16;

/** Where a file lies among the files of its attempt. */
interface FilePath {
  readonly subfolder: string;
  readonly filename: string;
}

export const pathOf = ({ subfolder, filename }: FilePath): string =>
  subfolder === '' ? filename : `${subfolder}/${filename}`;

/**
 * A new key for a file of an attempt: random, and a proof that the attempt with this token was given it for this file. So every
 * gateway recognises the files of an attempt, and none remembers them.
 */
export const newOutputKey = (token: string, file: FilePath): string => {
  const random = randomBytes(PART_BYTES);
  return Buffer.concat([random, proof(token, random, file)]).toString('base64url');
};

/** Whether the attempt with this token was given the key for this file. */
export const isOutputKeyOf = (
  token: string,
  { key, ...file }: FilePath & { readonly key: string },
): boolean => {
  const bytes = Buffer.from(key, 'base64url');
  if (bytes.byteLength !== 2 * PART_BYTES) return false;
  return timingSafeEqual(bytes.subarray(PART_BYTES), proof(token, bytes.subarray(0, PART_BYTES), file));
};

const proof = (token: string, random: Uint8Array, file: FilePath): Buffer =>
  createHmac('sha256', token).update(random).update(pathOf(file)).digest().subarray(0, PART_BYTES);
