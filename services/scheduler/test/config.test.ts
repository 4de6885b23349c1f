import { describe, expect, it } from 'vitest';
import { readSchedulerConfig } from '../src/config.ts';

describe('the configuration of the scheduler', () => {
  it('needs nothing to be set', () =>
    expect(readSchedulerConfig({})).toMatchObject({
      NATS_URL: 'nats://127.0.0.1:4222',
      RUNLEDGER_HEARTBEAT_PERIOD_S: 6,
      RUNLEDGER_CANCEL_ENFORCE_S: 20,
      RUNLEDGER_HEALTH_PORT: 9102,
    }));

  it('names everything that is wrong at once, and no secret', () => {
    const env = {
      RUNLEDGER_HEARTBEAT_PERIOD_S: 'soon',
      RUNLEDGER_HEALTH_PORT: '99999',
      NATS_PASSWORD: 'hunter2',
    };
    const read = (): unknown => readSchedulerConfig(env);
    expect(read).toThrow(/RUNLEDGER_HEARTBEAT_PERIOD_S[\s\S]*RUNLEDGER_HEALTH_PORT/);
    expect(read).not.toThrow(/hunter2/);
  });
});
