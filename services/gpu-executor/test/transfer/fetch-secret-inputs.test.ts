import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { aRun, assigned } from '@runledger/testing/run-events';
import { executorId } from '@runledger/contracts/ids';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fetchAssigned, workflowCache } from '../../src/transfer/fetch-assigned.ts';
import { startGateway, type ExecutionGateway } from '../fixtures/execution-gateway.ts';
import { sha256Of, WORKFLOW } from '../fixtures/assigned-run.ts';

describe('secret inputs of an attempt', () => {
  let gateway: ExecutionGateway;
  beforeEach(async () => {
    gateway = await startGateway();
  });
  afterEach(() => gateway[Symbol.asyncDispose]());

  const fetchIt = async (secret_inputs?: string[]) => {
    const keys = await newAttemptKeys();
    gateway.publicKey = keys.publicKey;
    const key = aRun();
    const event = assigned(key, { publicKey: keys.publicKey });
    const inputs = { prompt: 'a fox', api_key: 'v1.00000000.sealed' };
    const data = { ...event.data, workflow_sha256: sha256Of(WORKFLOW), inputs, inputs_blob: null };
    const assignment = {
      ...key,
      attempt: 1,
      executor_id: executorId(event.executor_id ?? ''),
      event: { ...event, data: { ...data, ...(secret_inputs && { secret_inputs }) } },
      startWithinS: 60,
    };
    const settings = {
      gateway: new URL(gateway.url),
      signAttempt: () => signAttempt(keys, key, 1),
      log: { info: () => undefined, warn: () => undefined },
      workflows: workflowCache(0),
    };
    const stop = new AbortController().signal;
    return fetchAssigned(settings, assignment, { stop, onWaiting: () => undefined });
  };

  it('replace the sealed ones, and are masked', async () => {
    gateway.texts.set('secret-inputs', JSON.stringify({ api_key: 'sk-12345' }));
    const fetched = await fetchIt(['api_key']);
    if (fetched.kind !== 'fetched') throw new Error(fetched.kind);
    expect(fetched.inputs).toEqual({ prompt: 'a fox', api_key: 'sk-12345' });
    expect(fetched.mask('calling with sk-12345')).toBe('calling with ***');
  });

  it('are not asked for without any', async () => {
    expect(await fetchIt()).toMatchObject({ kind: 'fetched' });
    expect(gateway.fetches).toEqual(['workflow']);
  });

  it('end the attempt when the gateway does not have all of them', async () => {
    gateway.texts.set('secret-inputs', JSON.stringify({ other: 'sk-12345' }));
    expect(await fetchIt(['api_key'])).toMatchObject({
      kind: 'refused',
      error: { kind: 'internal_error', message: expect.stringContaining('secret inputs') },
    });
    gateway.texts.delete('secret-inputs');
    expect(await fetchIt(['api_key'])).toMatchObject({ kind: 'refused' });
  });
});
