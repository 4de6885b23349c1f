import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { executorId } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { aRun, assigned } from '@runledger/testing/run-events';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { VersionSource } from '../../src/runners/runner.ts';
import { versionSource } from '../../src/transfer/fetch-stored.ts';
import { startGateway, type ExecutionGateway, type ServedFile } from '../fixtures/execution-gateway.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const never = new AbortController().signal;

const open = async (): Promise<{
  readonly gateway: ExecutionGateway;
  readonly source: VersionSource;
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
  const signed = { gateway: new URL(gateway.url), signAttempt: () => signAttempt(keys, key, 1) };
  return {
    gateway,
    source: versionSource({ ...signed, log: silentLogger }, assignment),
    path: join(temporaryFolder(), 'file'),
  };
};

const served = (text: string): ServedFile => {
  const bytes = Buffer.from(text);
  return { bytes, headers: { etag: `"${createHash('sha256').update(bytes).digest('hex')}"` } };
};

describe('what a version has beside its workflow', () => {
  it('is fetched with the token of the attempt, again when it did not arrive whole', async () => {
    const { gateway, source, path } = await open();
    gateway.code = served('an archive');
    gateway.files.set('a', served('weights'));
    gateway.fetchFailures = ['broken'];
    expect(await source.code(path, never)).toMatchObject({ kind: 'fetched', bytes: 10 });
    expect(readFileSync(path, 'utf8')).toBe('an archive');
    expect(await source.file('a', path, 100, never)).toMatchObject({ kind: 'fetched', bytes: 7 });
    expect(gateway.fetches).toEqual(['code', 'files']);
  });

  it('that is gone or too large cannot be prepared', async () => {
    const { gateway, source, path } = await open();
    expect(await source.code(path, never)).toMatchObject({
      error: {
        kind: 'prepare_failed',
        retryable: false,
        message: expect.stringContaining('The code of the version cannot be fetched'),
      },
    });
    gateway.files.set('a', served('weights'));
    expect(await source.file('a', path, 3, never)).toMatchObject({
      error: { kind: 'prepare_failed', message: expect.stringContaining('more than 3 bytes') },
    });
  });
});
