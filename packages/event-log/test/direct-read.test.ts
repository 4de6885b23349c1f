import { describe, expect, it } from 'vitest';
import { askBroker } from '../src/ask-broker.ts';
import { readDirect } from '../src/direct-read.ts';
import { LogUnavailable } from '../src/event-log.ts';
import { anEmptyLog } from './logs.ts';

describe('a direct read of a stream that nobody answers for', () => {
  it('is asked again until its time is over, as of a broker that is away', async () => {
    await using test = await anEmptyLog();
    let asked = 0;
    const read = askBroker(
      'reading PARKED',
      () => {
        asked += 1;
        return readDirect(test.log, 'PARKED', { seq: 1, batch: 1 });
      },
      400,
    );
    await expect(read).rejects.toThrow(LogUnavailable);
    expect(asked).toBeGreaterThan(1);
  });
});
