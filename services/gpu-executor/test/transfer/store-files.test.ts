import { writeFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import { executorId } from '@runledger/contracts/ids';
import { MAX_OUTPUT_FILES } from '@runledger/contracts/limits';
import { aRun, assigned } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import type { Assignment } from '../../src/attempt/assignment.decide.ts';
import { storeOutputs } from '../../src/attempt/store-outputs.ts';
import { identityOf } from '../../src/runners/output-files.ts';
import type { OutputFile } from '../../src/runners/runner.ts';
import { storeFiles } from '../../src/transfer/store-files.ts';
import { startGateway } from '../fixtures/execution-gateway.ts';
import { temporaryFolder } from '../runners/program/run-a-program.ts';

const anAssignment = (publicKey: string): Assignment => {
  const run = aRun();
  const executor_id = executorId('box.0a1b2c3d4e5f');
  const event = assigned(run, { executor: executor_id, publicKey });
  return { ...run, attempt: 1, executor_id, event, startWithinS: 60 };
};

const aFile = (filename: string, content: Uint8Array): OutputFile => {
  const path = join(temporaryFolder(), filename);
  writeFileSync(path, content);
  return { path, filename, subfolder: '', bytes: content.byteLength, identity: identityOf(statSync(path)) };
};

const log = silentLogger;

describe('storing the files of an attempt', () => {
  it('reports how far it is, and that it waits for the gateway', async () => {
    const keys = await newAttemptKeys();
    await using gateway = await startGateway();
    gateway.publicKey = keys.publicKey;
    gateway.failures = [null, 503];
    const files = [aFile('a.bin', Buffer.alloc(1024 ** 2)), aFile('b.bin', Buffer.alloc(3 * 1024 ** 2))];
    const reports: string[] = [];
    const { storing } = await storeFiles(
      { gateway: new URL(gateway.url), signAttempt: (run) => signAttempt(keys, run, 1), log },
      anAssignment(keys.publicKey),
      files,
      { stop: new AbortController().signal, report: (status) => reports.push(status) },
    );
    expect([storing, [...gateway.stored.keys()]]).toEqual([{ kind: 'stored' }, ['b.bin', 'a.bin']]);
    const about = (rest: string): string => `storing output files: ${rest}`;
    expect(reports[0]).toBe(about('0 of 2 stored, 0 % of 4.0 MiB sent'));
    expect(reports).toContain(about('0 of 2 stored, 12 % of 4.0 MiB sent'));
    expect(reports).toContain(about('1 of 2 stored, 75 % of 4.0 MiB sent, waiting for the gateway'));
    expect(reports.at(-1)).toBe(about('1 of 2 stored, 100 % of 4.0 MiB sent'));
  });

  it.each([
    ['the largest one is refused before any other is sent', [413], [null, null], []],
    ['what was stored keeps its place', [null, 507], [null, { filename: 'large.bin' }], ['large.bin']],
  ])('%s', async (_what, failures, kept, stored) => {
    const keys = await newAttemptKeys();
    await using gateway = await startGateway();
    gateway.publicKey = keys.publicKey;
    gateway.failures = failures;
    const { storing, files } = await storeFiles(
      { gateway: new URL(gateway.url), signAttempt: (run) => signAttempt(keys, run, 1), log },
      anAssignment(keys.publicKey),
      [aFile('small.bin', Buffer.alloc(10)), aFile('large.bin', Buffer.alloc(2_000))],
      { stop: new AbortController().signal, report: () => undefined },
    );
    expect(storing).toMatchObject({ kind: 'refused' });
    expect(files).toMatchObject(kept);
    expect([...gateway.stored.keys()]).toEqual(stored);
  });
});

describe('outputs that a run may not have', () => {
  const storedOf = async (files: readonly OutputFile[], data = {}) => {
    const tried: string[] = [];
    const append = async (): Promise<boolean> => tried.push('announced') > 0;
    const ledger = {
      assignment: anAssignment('key'),
      receive: () => null,
      stop: new AbortController().signal,
      append,
    };
    const { storing } = await storeOutputs(
      ledger,
      {
        newId: () => 'id',
        store: async () => (tried.push('sent'), { storing: { kind: 'stored' }, files: [] }),
        storeList: async () => ({ kind: 'stopped' }),
      },
      {
        result: { outcome: 'succeeded', data, files },
        outputId: 'program',
        makePrivateDir: async () => temporaryFolder(),
        report: () => undefined,
      },
    );
    return { storing, tried };
  };
  const some = (count: number, name: string): OutputFile[] =>
    Array.from({ length: count }, (_, index) => {
      const filename = `${index}${name}`;
      return { path: `/outputs/${filename}`, filename, subfolder: '', bytes: 1, identity: '1:1' };
    });

  it.each([
    ['too many, with their large texts', some(MAX_OUTPUT_FILES, ''), { text: ['x'.repeat(5_000)] }, '501'],
    ['names that are too long together', some(MAX_OUTPUT_FILES, 'ä'.repeat(240)), {}, '256 KiB'],
  ])('are refused before one is sent: %s', async (_what, files, data, named) => {
    expect(await storedOf(files, data)).toEqual({
      storing: {
        kind: 'refused',
        error: expect.objectContaining({ kind: 'output_too_large', message: expect.stringContaining(named) }),
      },
      tried: [],
    });
  });

  it('are all others', async () =>
    expect(await storedOf(some(MAX_OUTPUT_FILES, ''))).toEqual({
      storing: { kind: 'stored' },
      tried: ['announced', 'sent'],
    }));
});
