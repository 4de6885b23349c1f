import { randomBytes } from 'node:crypto';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openFiles, type Files } from '../../src/files/files.ts';
import { fileRecords, sumFiles } from '../../src/files/file-records.ts';
import { sweepFiles } from '../../src/keeping/sweeps.ts';
import { openOutputStore } from '../../src/files/output-stores.ts';
import { heldQuota } from '../../src/records/quotas/blob-quota.ts';
import { openQuotaBound } from '../../src/records/quotas/quota-bound.ts';
import { readGatewayConfig } from '../../src/config.ts';
import { aLog, type TestLog } from '../fixtures/gateway/a-log.ts';
import { aKit } from '../fixtures/gateway/a-kit.ts';

const DAY_MS = 86_400_000;

let bed: TestLog;
beforeAll(async () => {
  bed = await aLog();
});
afterAll(() => bed[Symbol.asyncDispose]());

/** Files after so many days. */
const after = (days: number) => {
  const { log } = bed;
  const records = fileRecords(log);
  const config = readGatewayConfig({
    NATS_URL: 'nats://127.0.0.1:1',
    RUNLEDGER_SECRET_KEYS: 'A'.repeat(43) + '=',
  });
  const { store } = openOutputStore(config, { log, logger: silentLogger, now: () => new Date() });
  const brokerTime = async (): Promise<Date> => new Date(Date.now() + days * DAY_MS);
  const clock = (): number => performance.now();
  const bound = openQuotaBound({
    count: async () => 0,
    becomeFresh: async () => true,
    limit: 1e9,
    onRefused: () => undefined,
    clock,
  });
  const uploads = heldQuota({ limit: 10, onRefused: () => undefined });
  const quotas = { files: bound, file_bytes: bound, uploads };
  const kit = aKit({ config, log, logger: silentLogger, clock });
  const files: Files = openFiles(kit, records, store, quotas, brokerTime);
  const expiring = { records, store, fileRetentionMs: files.retentionMs, brokerTime };
  const sweep = () => sweepFiles(kit, expiring, new AbortController().signal);
  return { files, sweep, records };
};

const parts = async (): Promise<number> => {
  const { state } = await bed.log.jsm.streams.info('OBJ_OUTPUTS', { subjects_filter: '$O.OUTPUTS.C.>' });
  return Object.keys(state.subjects ?? {}).length;
};

async function* body(bytes: number): AsyncGenerator<Uint8Array> {
  yield randomBytes(bytes);
}
const description = { filename: 'a.png', content_type: 'image/png', bytes: 100 };

describe('a file', () => {
  it('expires after its last use, and is erased', async () => {
    const org = orgId(newUuid());
    const before = await parts();
    const { value } = await after(0).files.store(org, description, body(100));
    expect(await after(13.9).files.find(org, value.id)).toBeDefined();
    await after(13.9).sweep();
    expect(await parts()).toBe(before + 1);
    expect(await after(14.1).files.find(org, value.id)).toBeUndefined();
    await after(14.1).sweep();
    expect(await parts()).toBe(before);
    expect(await sumFiles(after(0).records, org)).toEqual({ files: 0, bytes: 0 });
  });

  it('that a run names is kept anew, and its use is written at most every few hours', async () => {
    const org = orgId(newUuid());
    const stored = await after(0).files.store(org, description, body(100));
    const { id } = stored.value;
    expect(await after(0.1).files.use(org, id)).toBe('kept');
    expect((await after(0).files.find(org, id))?.revision).toBe(stored.revision);
    expect(await after(10).files.use(org, id)).toBe('kept');
    expect((await after(0).files.find(org, id))?.revision).toBeGreaterThan(stored.revision);
    expect(await after(15).files.use(org, id)).toBe('unknown');
    expect(await after(0).files.use(org, newUuid())).toBe('unknown');
    expect(await after(0).files.use(orgId(newUuid()), id)).toBe('unknown');
  });

  it('is not used for a run when the store expires it before the run must have ended', async () => {
    const org = orgId(newUuid());
    const { files } = after(80);
    const upload = await after(0).files.begin(org, description);
    const begun = { ...upload, changedAt: new Date() };
    const received = await after(0).files.receive(begun, body(100));
    const file = await after(0).files.finish(received);
    await after(0).records.files.put(file?.key ?? '', {
      ...(file?.value ?? Object.create(null)),
      stored_at: new Date(Date.now() - 80 * DAY_MS).toISOString(),
    });
    expect(await after(0).files.use(org, file?.value.id ?? '')).toBe('expires_soon');
    expect(await files.find(org, file?.value.id ?? '')).toBeUndefined();
  });
});

describe('an unfinished upload', () => {
  it('expires a day after its last bytes, with what it stored', async () => {
    const org = orgId(newUuid());
    const before = await parts();
    const upload = await after(0).files.begin(org, description);
    await after(0).files.receive(upload, body(50));
    await after(0.9).sweep();
    expect(await parts()).toBe(before + 1);
    expect(await after(1.1).files.findUpload(org, upload.value.id)).toBeUndefined();
    await after(1.1).sweep();
    expect(await parts()).toBe(before);
  });

  it('that was finished leaves its file when it expires', async () => {
    const org = orgId(newUuid());
    const upload = await after(0).files.begin(org, description);
    const received = await after(0).files.receive(upload, body(100));
    await after(1.1).sweep();
    expect(await after(0).files.findUpload(org, upload.value.id)).toBeUndefined();
    expect(await after(0).files.find(org, received.value.file_id ?? '')).toBeDefined();
  });
});
