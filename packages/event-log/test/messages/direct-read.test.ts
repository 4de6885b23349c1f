import { describe, expect, it } from 'vitest';
import { callBroker } from '../../src/connect/broker-call.ts';
import { readDirect } from '../../src/messages/direct-read.ts';
import { LogUnavailable } from '../../src/connect/event-log.ts';
import { anEmptyLog } from '../fixtures/test-log.ts';

describe('a direct read of a stream without a responder', () => {
  it('is retried until its time is over, as for an unavailable broker', async () => {
    await using test = await anEmptyLog();
    let asked = 0;
    const read = callBroker(
      'reading DEAD_LETTERS',
      () => {
        asked += 1;
        return readDirect(test.log, 'DEAD_LETTERS', { seq: 1, batch: 1 });
      },
      400,
    );
    await expect(read).rejects.toThrow(LogUnavailable);
    expect(asked).toBeGreaterThan(1);
  });
});
