import { randomBytes } from 'node:crypto';

const KEY_BYTES = 32;

/** Unguessable: the address of an output is made of such a key, and nobody may read a part there. */
export const newPartKey = (): string => randomBytes(KEY_BYTES).toString('base64url');
