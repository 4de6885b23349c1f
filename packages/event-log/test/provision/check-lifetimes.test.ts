import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkLifetimes } from '../../src/provision/log-settings.ts';
import { provision } from '../../src/provision/provision.ts';
import { aLog, type TestLog } from '../fixtures/test-log.ts';

const HOUR_MS = 3_600_000;
const HOUR_NS = HOUR_MS * 1_000_000;

let test: TestLog;
beforeAll(async () => {
  test = await aLog();
});
afterAll(() => test[Symbol.asyncDispose]());

const loggedBy = async (own: Parameters<typeof checkLifetimes>[1], streams: readonly string[]) => {
  const logged: object[] = [];
  const logger = { ...test.log.logger, error: (fields: object) => void logged.push(fields) };
  const problems = await checkLifetimes({ ...test.log, logger }, own, streams);
  expect(logged).toEqual(problems.map((problem) => ({ problem })));
  return problems;
};

describe('the settings of a service', () => {
  it('fit the streams as they are provisioned', async () => {
    expect(await loggedBy({ webhookGiveUp: HOUR_MS, views: 365 * 24 * HOUR_MS }, ['RUNS', 'FLEET'])).toEqual(
      [],
    );
  });

  it('are compared with the streams as they are, which may differ from what was provisioned', async () => {
    await test.log.jsm.streams.update('RUNS', { max_age: 2 * HOUR_NS });
    await test.log.jsm.streams.update('DELIVERY_ATTEMPTS', { max_age: HOUR_NS });
    await test.log.jsm.streams.update('BLOBS', { max_age: 3 * HOUR_NS });
    const own = { webhookGiveUp: 3 * HOUR_MS, views: HOUR_MS };
    expect(await loggedBy(own, ['RUNS', 'DELIVERY_ATTEMPTS', 'BLOBS'])).toEqual([
      expect.stringContaining('runsMaxAgeMs is too short: 1.92 h are less than 3 h'),
      expect.stringContaining('RUNLEDGER_RUN_RETENTION_DAYS is too short'),
      expect.stringContaining('blobsMaxAgeMs is too short: 3 h are less than 4 h'),
      expect.stringContaining('deliveryAttemptsMaxAgeMs is too short: 1 h are less than 3 h'),
    ]);
    await provision(test.log);
  });
});
