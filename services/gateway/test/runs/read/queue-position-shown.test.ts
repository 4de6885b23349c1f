import { respondWithQueuePositions } from '@runledger/request-reply/queue-positions';
import { describe, expect, it } from 'vitest';
import { openTestBed } from '../../fixtures/gateway/test-bed.ts';
import { queueSample } from '../../fixtures/runs/queued-runs.ts';
import { call } from '../../fixtures/requests/requests.ts';

describe('a queued run', () => {
  it('shows what it waits for, alone and in a list, and less while no scheduler responds', async () => {
    await using bed = await openTestBed();
    const gateway = await bed.gateway({ projecting: true });
    const { key } = bed.tenant;
    const first = await queueSample(gateway, bed.tenant);
    const second = await queueSample(gateway, bed.tenant, { gpu: 'H100' });
    const unknown = await call(`${gateway.api}/run/${first.run_id}`, key);
    expect(unknown.body).toMatchObject({ live_status: 'waiting for an A10G', queue_position: null });

    using answering = respondWithQueuePositions(bed.log, (asked) =>
      asked.map(({ run_id }) =>
        run_id === first.run_id ? { ahead: 2, capacity: 'busy' } : { ahead: 0, capacity: 'no_gpu' },
      ),
    );
    expect(answering).toBeDefined();
    // Another gateway, which has not been left without an answer a moment ago.
    const other = await bed.gateway({ projecting: true });
    const { body } = await call(`${other.api}/runs`, key);
    const shown = body.runs.map(({ id, live_status, queue_position }: Record<string, unknown>) => ({
      id,
      live_status,
      queue_position,
    }));
    expect(shown).toEqual([
      {
        id: second.run_id,
        live_status: 'waiting for an H100: no executor offers one now',
        queue_position: 1,
      },
      { id: first.run_id, live_status: 'waiting for an A10G (2 ahead)', queue_position: 3 },
    ]);
    const alone = await call(`${other.api}/run/${first.run_id}`, key);
    expect(alone.body).toMatchObject({ queue_position: 3, status: 'queued' });
  });
});
