import { describe, expect, it } from 'vitest';
import { openTestBed, type TestBed } from '../../fixtures/gateway/test-bed.ts';
import { anAttempt, numbered, upload } from '../../runs/attempts/an-upload.ts';

const MiB = 1024 ** 2;

const messagesOf = async ({ log }: TestBed, filter: string): Promise<number> => {
  const { state } = await log.jsm.streams.info('OBJ_OUTPUTS', { subjects_filter: filter });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};

describe('a full store of output files', () => {
  it('is named in a refusal, keeps nothing of the file, and accepts one that fits', async () => {
    await using bed = await openTestBed({ outputsMaxBytes: MiB });
    const gateway = await bed.gateway();
    const first = await anAttempt(bed, gateway);
    expect((await upload(gateway, first, numbered(700_000), { filename: 'a' })).status).toBe(201);
    const stored = await messagesOf(bed, '$O.OUTPUTS.C.>');
    const second = await anAttempt(bed, gateway);
    const refused = await upload(gateway, second, numbered(700_000), { filename: 'b' });
    expect([refused.status, refused.body.detail]).toEqual([
      507,
      expect.stringMatching(/^The object store OUTPUTS of the broker is full\. .*outputsMaxBytes/),
    ]);
    expect(refused.headers.get('retry-after')).toBeNull();
    expect(await messagesOf(bed, '$O.OUTPUTS.C.>')).toBe(stored);
    expect((await upload(gateway, second, numbered(100_000), { filename: 'b' })).status).toBe(201);
  });
});
