import { afterEach, expect, it, vi } from 'vitest';
import { uploadTimeoutS } from '@runledger/contracts/limits';
import { aborted } from '@runledger/resilience/abort';
import { storeOutputs } from '../../src/attempt/store-outputs.ts';
import type { AttemptLedger } from '../../src/attempt/attempt-ledger.ts';

afterEach(() => {
  vi.useRealTimers();
});

const BYTES = 1024 ** 3;

/** Files that no gateway takes, and when they are given up. */
const storing = (stop: AbortSignal) =>
  storeOutputs(
    // Only these members are of interest to whoever stores files.
    { assignment: {}, stop, append: async () => true } as unknown as AttemptLedger,
    {
      newId: () => 'id',
      store: async (_assignment, _files, { stop: given }) => {
        await aborted(given);
        return { storing: { kind: 'stopped' }, files: [] };
      },
      storeList: async () => ({ kind: 'stopped' }),
    },
    {
      result: {
        outcome: 'succeeded',
        data: {},
        files: [{ path: '/a', filename: 'a', subfolder: '', bytes: BYTES, identity: '1' }],
      },
      outputId: 'output',
      makePrivateDir: async () => '/nowhere',
      report: () => undefined,
    },
  );

it('files that are not stored within their time end the run at its time limit', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const stored = storing(new AbortController().signal);
  await vi.advanceTimersByTimeAsync(uploadTimeoutS(BYTES) * 1_000);
  expect((await stored).storing).toMatchObject({
    kind: 'refused',
    error: { kind: 'run_timeout', message: expect.stringContaining('within the 7200 s') },
  });
});

it('files of a run that is stopped are not those of one that is over its time', async () => {
  const stop = new AbortController();
  const stored = storing(stop.signal);
  stop.abort();
  expect((await stored).storing).toEqual({ kind: 'stopped' });
});
