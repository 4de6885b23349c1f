import { aRun, EXECUTOR, OTHER_EXECUTOR } from '@runledger/testing/run-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { consume, done, ConsumerTakenOver } from '../../src/follow/consume.ts';
import { ConsumerChanged, type OwnedConsumer } from '../../src/follow/consumer-owner.ts';
import { createOwnedConsumer } from '../../src/follow/open-consumer.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const open = (name: string) => {
  const subject = `runs.*.${aRun().run_id}.life.*.*.*.${EXECUTOR}`;
  const options = { name, stream: 'RUNS', subjects: [subject], deliver: 'new' } as const;
  const { log } = test;
  const owner = {
    id: EXECUTOR,
    owns: () => true,
    create: (wanted: OwnedConsumer) => createOwnedConsumer(log, wanted),
  };
  return consume(log, { ...options, owner }, async () => done);
};

/** As those can who may make consumers on the stream: the subject names none, and the broker goes by the body. */
const change = async (name: string, settings: object): Promise<void> => {
  const { log } = test;
  const { config } = await log.jsm.consumers.info('RUNS', name);
  const request = { stream_name: 'RUNS', config: { ...config, durable_name: undefined, name, ...settings } };
  const answer = await log.nc.request('$JS.API.CONSUMER.CREATE.RUNS', JSON.stringify(request));
  expect(answer.json()).toMatchObject({ config: settings });
};

describe.concurrent('a consumer with an owner', () => {
  it.each([
    ['filter_subject', 'runs.nothing'],
    ['headers_only', true],
    ['max_expires', 1_000_000],
  ])('stops with an error that names its changed setting %s', async (setting, value) => {
    const name = `changed-${setting}`;
    await using consumption = await open(name);
    await change(name, { [setting]: value });
    const error = await consumption.failed;
    expect(error).toBeInstanceOf(ConsumerChanged);
    expect(error.message).toContain(`The consumer ${name} was changed: `);
    expect(error.message).toContain(`${setting} is ${JSON.stringify(value)} and was `);
    expect(consumption.state()).toEqual({ ok: false, why: error.message });
  });

  it('is removed when it is closed, so that the next process need not wait', async () => {
    await (await open('given-up'))[Symbol.asyncDispose]();
    await expect(test.log.jsm.consumers.info('RUNS', 'given-up')).rejects.toThrow('not found');
  });

  it('is not removed when it belongs to another process', async () => {
    const consumption = await open('owned-by-another');
    await change('owned-by-another', { metadata: { owner: OTHER_EXECUTOR } });
    await consumption[Symbol.asyncDispose]();
    const { config } = await test.log.jsm.consumers.info('RUNS', 'owned-by-another');
    expect(config.metadata).toMatchObject({ owner: OTHER_EXECUTOR });
  });

  it('stops when its owner was changed', async () => {
    await using consumption = await open('changed-owner');
    await change('changed-owner', { metadata: { owner: OTHER_EXECUTOR } });
    const error = await consumption.failed;
    expect(error).toBeInstanceOf(ConsumerTakenOver);
    expect(error.message).toContain(OTHER_EXECUTOR);
  });
});
