import { describe, expect, it } from 'vitest';
import { newAttemptKeys, signAttempt, verifyAttempt } from '../src/attempt-token.ts';
import { newUuid, runId } from '../src/ids.ts';
import { ORG, RUN } from './fixtures/run-events.ts';

const run = { org_id: ORG, run_id: RUN };

describe('the token of an attempt', () => {
  it('is valid for its attempt of its run, and for no other', async () => {
    const keys = await newAttemptKeys();
    const token = await signAttempt(keys, run, 1);
    expect(await verifyAttempt(keys.publicKey, token, run, 1)).toBe(true);
    expect(await verifyAttempt(keys.publicKey, token, run, 2)).toBe(false);
    expect(await verifyAttempt(keys.publicKey, token, { ...run, run_id: runId(newUuid()) }, 1)).toBe(false);
  });

  it('of another executor is invalid', async () => {
    const token = await signAttempt(await newAttemptKeys(), run, 1);
    expect(await verifyAttempt((await newAttemptKeys()).publicKey, token, run, 1)).toBe(false);
  });

  it.each(['', 'x', 'ä', 'A'.repeat(10_000)])('is invalid if it is malformed: %.10s', async (malformed) => {
    const keys = await newAttemptKeys();
    expect(await verifyAttempt(keys.publicKey, malformed, run, 1)).toBe(false);
    expect(await verifyAttempt(malformed, await signAttempt(keys, run, 1), run, 1)).toBe(false);
  });
});
