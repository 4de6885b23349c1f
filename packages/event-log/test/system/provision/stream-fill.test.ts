import { aRun, queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { append } from '../../../src/append/append.ts';
import { streamFill } from '../../../src/provision/stream-sizes.ts';
import { aLogOnOwnBroker } from '../../fixtures/test-log.ts';

describe('the fill of a stream', () => {
  it('is known while the broker responds, and unknown without the stream or the broker', async () => {
    await using test = await aLogOnOwnBroker({ runsMaxBytes: 100_000_000 });
    await append(test.log, queued(aRun()), 0);
    const fill = await streamFill(test.log, 'RUNS');
    expect(fill).toMatchObject({ messages: 1, lastSequence: 1, maxBytes: 100_000_000 });
    expect(fill?.bytes).toBeGreaterThan(0);
    await test.log.jsm.streams.delete('DEAD_LETTERS');
    expect(await streamFill(test.log, 'DEAD_LETTERS')).toBeUndefined();
    await test.nats.kill9();
    expect(await streamFill(test.log, 'RUNS')).toBeUndefined();
  });
});
