import { ConfigError } from '@runledger/service-kit/config';
import { describe, expect, it } from 'vitest';
import { checkSettings, withoutMisspelt } from '../src/check-settings.ts';

const WRONG = {
  PATH: process.env['PATH'],
  RUNLEDGER_PORT: 'many',
  RUNLEDGER_LOG_SETTINGS: '{"runMaxBytes": 1}',
  MONGODB_URL: 'http://127.0.0.1',
  // Several services read these.
  RUNLEDGER_LOG_LEVEL: 'loud',
  RUNLEDGER_HEARTBEAT_PERIOD_S: 'often',
  RUNLEDGER_WEBHOOK_GIVE_UP_S: 'never',
  // Each of these is read by one: the gateway, the scheduler, the executor, the notifier.
  RUNLEDGER_QUEUE_MAX: '0',
  RUNLEDGER_SNAPSHOT_EVERY_S: 'x',
  EXECUTOR_LABELS: 'not a label',
  RUNLEDGER_WEBHOOK_PROXY: 'no URL',
  // Rules beyond a schema.
  RUNLEDGER_FILE_MAX_BYTES: '1000',
  RUNLEDGER_QUOTA_FILE_BYTES: '10',
  EXECUTOR_GPUS: 'RTX 4090',
  EXECUTOR_PROGRAMS: '{"mine":',
};

describe('wrong settings', () => {
  it('are told at once, each once, whichever service reads them', async () => {
    const error: unknown = await checkSettings(WRONG).catch((failure: unknown) => failure);
    if (!(error instanceof ConfigError)) throw new Error('The settings were accepted.');
    const { PATH: _path, RUNLEDGER_QUOTA_FILE_BYTES: _quota, ...wrong } = WRONG;
    expect(error.problems.map(({ variable }) => variable).toSorted()).toEqual(Object.keys(wrong).toSorted());
    expect(error.message).toContain('RUNLEDGER_LOG_SETTINGS');
    expect(error.message).toContain('Unknown settings: runMaxBytes');
  });

  it('are told of the address of a database too, without its password', async () => {
    const given = { MONGODB_URL: 'mongodb://me:se/cret@127.0.0.1:27017', RUNLEDGER_PORT: 'many' };
    const error: unknown = await checkSettings(given).catch((failure: unknown) => failure);
    if (!(error instanceof ConfigError)) throw new Error('The settings were accepted.');
    expect(error.problems.map(({ variable }) => variable)).toEqual(['RUNLEDGER_PORT', 'MONGODB_URL']);
    expect(error.message).not.toContain('cret');
  });

  it('are not those that the standalone decides itself, or takes from elsewhere', async () => {
    const given = {
      RUNLEDGER_HEALTH_PORT: 'x',
      RUNLEDGER_VIEWS: 'x',
      RUNLEDGER_GATEWAY_URL: 'x',
      NATS_URL: 'x',
    };
    expect(await checkSettings({ ...given, RUNLEDGER_PORT: '0' })).toMatchObject({ RUNLEDGER_PORT: 0 });
  });
});

describe('a setting whose name has a slip', () => {
  it('is told once, and not passed on to the services', () => {
    const given = { RUNLEDGER_PROT: '1', EXECUTOR_GPU: 'L4', RUNLEDGER_PORT: '2', PATH: '/bin' };
    const told: string[] = [];
    const left = withoutMisspelt(given, (sentence) => told.push(sentence));
    expect(left).toEqual({ RUNLEDGER_PORT: '2', PATH: '/bin' });
    expect(told).toEqual([
      expect.stringMatching(/^EXECUTOR_GPU is no setting.* Is EXECUTOR_GPUS meant\?$/),
      expect.stringMatching(/^RUNLEDGER_PROT is no setting.* Is RUNLEDGER_PORT meant\?$/),
    ]);
  });
});
