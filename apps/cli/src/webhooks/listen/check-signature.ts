import { timingSafeEqual } from 'node:crypto';
import { signedHeaders } from '@runledger/webhooks/signing/signature';

/** `stale`: signed correctly, but more than five minutes ago or ahead, so that it may be a replay. */
export type Checked = 'right' | 'wrong' | 'stale' | 'unsigned' | 'not checked';

/** From Standard Webhooks: a receiver accepts no older timestamp. */
const TOLERANCE_S = 300;

export interface Signed {
  readonly id: string | undefined;
  readonly timestamp: string | undefined;
  readonly signature: string | undefined;
  /** The bytes as received. */
  readonly body: Uint8Array;
}

/** Whether one of the secrets made one of the signatures. */
export const checkSignature = (
  { id, timestamp, signature, body }: Signed,
  secrets: readonly string[],
  now: Date,
): Checked => {
  if (id === undefined || timestamp === undefined || signature === undefined) return 'unsigned';
  if (secrets.length === 0) return 'not checked';
  const at = readTimestamp(timestamp);
  if (at === undefined) return 'wrong';
  const given = signature.split(' ');
  const expected = expectedSignatures({ id, at, body }, secrets);
  if (!given.some((one) => expected.some((other) => isSame(one, other)))) return 'wrong';
  return Math.abs(now.getTime() - at.getTime()) > TOLERANCE_S * 1_000 ? 'stale' : 'right';
};

/** @throws TypeError that describes a valid secret, without quoting this one */
export const assertSecret = (secret: string): void =>
  void signedHeaders({ id: 'x', at: new Date(0), body: new Uint8Array(), secrets: [secret] });

const readTimestamp = (text: string): Date | undefined =>
  /^\d{1,12}$/.test(text) ? new Date(Number(text) * 1_000) : undefined;

/** Empty for an invalid id. */
const expectedSignatures = (
  { id, at, body }: { readonly id: string; readonly at: Date; readonly body: Uint8Array },
  secrets: readonly string[],
): string[] => {
  try {
    return signedHeaders({ id, at, body, secrets })['webhook-signature'].split(' ');
  } catch (error) {
    if (error instanceof TypeError) return [];
    throw error;
  }
};

const isSame = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
};
