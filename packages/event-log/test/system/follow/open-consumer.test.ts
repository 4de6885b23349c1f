import { aRun, EXECUTOR, OTHER_EXECUTOR } from '@runledger/testing/run-events';
import type { ExecutorId } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { consume, done, ConsumerInUse, type Consumption } from '../../../src/follow/consume.ts';
import { createOwnedConsumer } from '../../../src/follow/open-consumer.ts';
import type { EventLog } from '../../../src/connect/event-log.ts';
import { aLog, aLogOnOwnBroker } from '../../fixtures/test-log.ts';

const { run_id } = aRun();
const open = (log: EventLog, owner: ExecutorId): Promise<Consumption> =>
  consume(
    log,
    {
      name: 'for-one',
      stream: 'RUNS',
      subjects: [`runs.*.${run_id}.life.*.*.*.${owner}`],
      deliver: 'new',
      owner: {
        id: owner,
        owns: (subject) => subject.endsWith(`.${owner}`),
        create: (wanted) => createOwnedConsumer(log, wanted),
      },
    },
    async () => done,
  );

describe('a consumer with an owner', () => {
  it('stays with the process that uses it, also right after a restart of the broker', async () => {
    await using test = await aLogOnOwnBroker();
    await using first = await open(await test.open(), EXECUTOR);
    const other = await test.open();
    const refused = expect.objectContaining({
      by: EXECUTOR,
      message: expect.stringContaining(EXECUTOR) as unknown,
    });
    await expect(open(other, OTHER_EXECUTOR)).rejects.toEqual(refused);
    await expect(open(other, OTHER_EXECUTOR)).rejects.toBeInstanceOf(ConsumerInUse);

    await test.nats.kill9();
    const again = open(other, OTHER_EXECUTOR);
    await Promise.all([test.nats.restart(), expect(again).rejects.toBeInstanceOf(ConsumerInUse)]);
    expect(first.state()).toEqual({ ok: true });
  });

  it('is replaced after its former owner has stopped using it', async () => {
    await using test = await aLog();
    const first = await open(test.log, EXECUTOR);
    await first[Symbol.asyncDispose]();
    await using second = await open(test.log, OTHER_EXECUTOR);
    expect(second.state()).toEqual({ ok: true });
    expect((await test.log.jsm.consumers.info('RUNS', 'for-one')).config).toMatchObject({
      filter_subject: `runs.*.${run_id}.life.*.*.*.${OTHER_EXECUTOR}`,
      metadata: { owner: OTHER_EXECUTOR },
    });
  });
});
