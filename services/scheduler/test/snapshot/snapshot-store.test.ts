import { aLog, type TestLog } from '@runledger/event-log/test/fixtures/test-log';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadSnapshot, saveSnapshot } from '../../src/snapshot/snapshot-store.ts';

let test: TestLog;
let log: EventLog;
beforeAll(async () => {
  test = await aLog();
  log = test.log;
});
afterAll(() => test[Symbol.asyncDispose]());

const saved = async (name: string): Promise<Buffer | undefined> => {
  const bytes = await loadSnapshot(log, name);
  return bytes && buffer(bytes);
};

describe('a stored snapshot', () => {
  it('is the last that was saved under its name', async () => {
    expect(await loadSnapshot(log, 'scheduler')).toBeUndefined();
    await saveSnapshot(log, 'scheduler', () => [new Uint8Array(3_000_000).fill(1)]);
    await saveSnapshot(log, 'scheduler', () => [new Uint8Array(2_000_000).fill(2)]);
    const loaded = await saved('scheduler');
    expect(loaded?.byteLength).toBe(2_000_000);
    expect(loaded?.every((byte) => byte === 2)).toBe(true);
  });

  it('is not used when it is damaged', async () => {
    await saveSnapshot(log, 'damaged', () => [new Uint8Array(1_000).fill(1)]);
    const chunk = await log.jsm.streams.getMessage('OBJ_SNAPSHOTS', { last_by_subj: '$O.SNAPSHOTS.C.>' });
    if (!chunk) throw new Error('the snapshot has no chunk');
    await log.jsm.streams.deleteMessage('OBJ_SNAPSHOTS', chunk.seq);
    await log.js.publish(chunk.subject, new Uint8Array(1_000).fill(9));
    await expect(saved('damaged')).rejects.toThrow('corrupt');
  });

  it('is not used when another one replaces it while it is read', async () => {
    await saveSnapshot(log, 'replaced', () => [new Uint8Array(3_000_000).fill(1)]);
    const reading = (await loadSnapshot(log, 'replaced'))?.[Symbol.asyncIterator]();
    expect((await reading?.next())?.value?.[0]).toBe(1);
    await saveSnapshot(log, 'replaced', () => [new Uint8Array(3_000_000).fill(2)]);
    const rest = async (): Promise<void> => {
      while (!(await reading?.next())?.done);
    };
    await expect(rest()).rejects.toThrow('is missing');
  });
});
