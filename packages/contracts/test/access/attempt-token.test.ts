import { describe, expect, it } from 'vitest';
import { newAttemptKeys, signAttempt, verifyAttempt } from '../../src/access/attempt-token.ts';
import { newUuid, runId } from '../../src/ids.ts';
import { ORG, RUN } from '../fixtures/run-events.ts';

const run = { org_id: ORG, run_id: RUN };

describe('the token of an attempt', () => {
  it('is taken for that attempt of that run, and for nothing else', async () => {
    const keys = await newAttemptKeys();
    const token = await signAttempt(keys, run, 1);
    expect(await verifyAttempt(keys.publicKey, token, run, 1)).toBe(true);
    expect(await verifyAttempt(keys.publicKey, token, run, 2)).toBe(false);
    expect(await verifyAttempt(keys.publicKey, token, { ...run, run_id: runId(newUuid()) }, 1)).toBe(false);
  });

  it('is not taken from another executor', async () => {
    const token = await signAttempt(await newAttemptKeys(), run, 1);
    expect(await verifyAttempt((await newAttemptKeys()).publicKey, token, run, 1)).toBe(false);
  });

  it.each(['', 'x', 'ä', 'A'.repeat(10_000)])('is not taken when it is rubbish: %.10s', async (rubbish) => {
    const keys = await newAttemptKeys();
    expect(await verifyAttempt(keys.publicKey, rubbish, run, 1)).toBe(false);
    expect(await verifyAttempt(rubbish, await signAttempt(keys, run, 1), run, 1)).toBe(false);
  });
});
