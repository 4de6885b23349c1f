import { randomBytes } from 'node:crypto';
import type { DrawInteger } from './input-values.decide.ts';

/** With 128 random bits, so that no integer of a range up to 2^54 is likelier than another one by more than 2^-74. */
export const drawInteger: DrawInteger = ({ lowest, highest }) => {
  const range = BigInt(highest) - BigInt(lowest) + 1n;
  return Number(BigInt(lowest) + (BigInt(`0x${randomBytes(16).toString('hex')}`) % range));
};
