import { relativeCost } from '@runledger/testing/measuring';
import { expect, it } from 'vitest';
import { newSigningSecret, signedHeaders } from '../../src/signature.ts';

/** What it cost when it was measured last: see `relativeCost`. */
const COST = 14;

it('signing a notification costs less than twice what it did', () => {
  const body = new Uint8Array(2_000).fill(32);
  const secrets = [newSigningSecret()];
  const at = new Date('2026-01-01T00:00:00.000Z');
  const sign = (): unknown => signedHeaders({ id: 'notification-1', at, body, secrets });
  expect(relativeCost(sign)).toBeLessThan(2 * COST);
});
