import { newUuid, orgId } from '@runledger/contracts/ids';
import { LogUnavailable } from '@runledger/event-log/connect/event-log';
import { describe, expect, it } from 'vitest';
import { beginUpload, type BeginUpload } from '../../src/files/uploads.ts';

const now = new Date('2026-11-28T12:00:00.000Z');
const roomy: BeginUpload['quotas']['files'] = { limit: 10, within: (_org, _amount, use) => use() };

/** A broker that answers a creation with this, and may not be read: who leads may not have it yet. */
const begun = (created: number | false) =>
  beginUpload(
    {
      records: { uploads: { create: () => Promise.resolve(created) } },
      quotas: { files: roomy, file_bytes: roomy },
      maxBytes: 100,
      newId: newUuid,
      brokerTime: () => Promise.resolve(now),
    },
    orgId(newUuid()),
    { filename: 'a.txt', content_type: 'text/plain', bytes: 3 },
  );

describe('an upload', () => {
  it('has begun once the broker has stored it, whatever a reader sees', async () => {
    expect(await begun(7)).toMatchObject({
      revision: 7,
      changedAt: now,
      value: { bytes: 3, begun_at: now.toISOString(), parts: [], file_id: null },
    });
  });

  it('has not begun for certain when the broker did not say so', async () => {
    await expect(begun(false)).rejects.toBeInstanceOf(LogUnavailable);
  });
});
