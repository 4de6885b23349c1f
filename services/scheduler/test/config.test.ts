import { describe, expect, it } from 'vitest';
import { readSchedulerConfig, weightsOf } from '../src/config.ts';

const ORG = '01920000-0000-7000-8000-000000000001';

describe('the configuration of the scheduler', () => {
  it('needs nothing to be set', () =>
    expect(readSchedulerConfig({})).toMatchObject({
      NATS_URL: 'nats://127.0.0.1:4222',
      RUNLEDGER_HEARTBEAT_PERIOD_S: 6,
      RUNLEDGER_CANCEL_ENFORCE_S: 20,
      RUNLEDGER_HEALTH_PORT: 9102,
    }));

  it('has the weights of organisations', () => {
    const [one, other] = [ORG, '01920000-0000-7000-8000-000000000002'];
    const config = readSchedulerConfig({ RUNLEDGER_ORG_WEIGHTS: `${one}:3,${other}:0.5` });
    expect(weightsOf(config)).toEqual(
      new Map([
        [one, 3],
        [other, 0.5],
      ]),
    );
  });

  it.each([
    '3',
    'acme:3',
    ORG,
    `${ORG}:`,
    `${ORG}:0`,
    `${ORG}:-1`,
    `${ORG}:1001`,
    `${ORG}:1:2`,
    `${ORG}:1e2`,
  ])('refuses the weight %j, and says what is right', (text) =>
    expect(() => readSchedulerConfig({ RUNLEDGER_ORG_WEIGHTS: text })).toThrow(
      /RUNLEDGER_ORG_WEIGHTS.*the id of an organisation, a colon and a weight/s,
    ),
  );

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
