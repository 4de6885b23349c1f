import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { executorId } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { aRun, assigned } from '@runledger/testing/run-events';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FetchCode } from '../../src/runners/runner.ts';
import { openAttemptGateway } from '../../src/transfer/attempt-gateway.ts';
import { codeFetcher } from '../../src/transfer/fetch-stored.ts';
import { startGateway, type ExecutionGateway, type ServedFile } from '../fixtures/execution-gateway.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const never = new AbortController().signal;

const open = async (): Promise<{
  readonly gateway: ExecutionGateway;
  readonly fetchCode: FetchCode;
  readonly path: string;
}> => {
  const gateway = await startGateway();
  onTestFinished(() => gateway[Symbol.asyncDispose]());
  const keys = await newAttemptKeys();
  gateway.publicKey = keys.publicKey;
  const key = aRun();
  const event = assigned(key, { publicKey: keys.publicKey });
  const assignment = {
    ...key,
    attempt: 1,
    executor_id: executorId(event.executor_id ?? ''),
    event,
    startWithinS: 60,
  };
  const signed = {
    gateway: new URL(gateway.url),
    signAttempt: () => signAttempt(keys, key, 1),
    log: silentLogger,
  };
  return {
    gateway,
    fetchCode: codeFetcher(signed, openAttemptGateway(signed, assignment)),
    path: join(temporaryFolder(), 'file'),
  };
};

const served = (text: string): ServedFile => {
  const bytes = Buffer.from(text);
  return { bytes, headers: { etag: `"${createHash('sha256').update(bytes).digest('hex')}"` } };
};

describe('the code of a version', () => {
  it('is fetched with the token of the attempt, again when it did not arrive whole', async () => {
    const { gateway, fetchCode, path } = await open();
    gateway.code = served('an archive');
    gateway.fetchFailures = ['broken'];
    expect(await fetchCode(path, never)).toMatchObject({ kind: 'fetched', bytes: 10 });
    expect(readFileSync(path, 'utf8')).toBe('an archive');
    expect(gateway.fetches).toEqual(['code']);
  });

  it('that is gone cannot be prepared', async () => {
    const { fetchCode, path } = await open();
    expect(await fetchCode(path, never)).toMatchObject({
      error: {
        kind: 'prepare_failed',
        retryable: false,
        message: expect.stringContaining('The code of the version cannot be fetched'),
      },
    });
  });
});
