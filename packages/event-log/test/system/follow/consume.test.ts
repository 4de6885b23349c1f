import type { RunKey } from '@runledger/contracts/events/subjects';
import { describe, expect, it } from 'vitest';
import { append } from '../../../src/append/append.ts';
import { consume, done } from '../../../src/follow/consume.ts';
import type { EventLog } from '../../../src/connect/event-log.ts';
import { aLogOnOwnBroker } from '../../fixtures/test-log.ts';
import { aRun, assigned, queued, started } from '@runledger/testing/run-events';

const history = async (log: EventLog, key: RunKey): Promise<number[]> => {
  const sequences: number[] = [];
  for (const event of [queued(key), assigned(key), started(key)]) {
    const result = await append(log, event, sequences.at(-1) ?? 0);
    if (result.kind === 'appended') sequences.push(result.sequence);
  }
  return sequences;
};

describe('consume, when the broker is killed', () => {
  it('continues after its restart, in order and without a gap', async () => {
    await using broken = await aLogOnOwnBroker();
    const seen: number[] = [];
    await using consumption = await consume(
      broken.log,
      { name: 'survivor', stream: 'RUNS', subjects: ['runs.>'], deliver: 'all' },
      async ({ sequence }) => {
        seen.push(sequence);
        return done;
      },
    );
    for (let kill = 0; kill < 2; kill += 1) {
      await history(broken.log, aRun());
      await broken.nats.kill9();
      await broken.nats.restart();
    }
    const last = (await history(broken.log, aRun())).at(-1);
    await expect.poll(() => seen.at(-1), { timeout: 30_000 }).toBe(last);
    expect(consumption.state()).toEqual({ ok: true });
    const firsts = seen.filter((sequence, at) => seen.indexOf(sequence) === at);
    expect(firsts).toEqual(Array.from({ length: 9 }, (_, n) => n + 1));
  }, 60_000);
});
