import { describe, expect, it } from 'vitest';
import { readSchedulerConfig, shareOfIn } from '../src/config.ts';

const ORG = '01920000-0000-7000-8000-000000000001';

describe('the configuration of the scheduler', () => {
  it('needs nothing to be set', () =>
    expect(readSchedulerConfig({})).toMatchObject({
      NATS_URL: 'nats://127.0.0.1:4222',
      RUNLEDGER_HEARTBEAT_PERIOD_S: 6,
      RUNLEDGER_CANCEL_ENFORCE_S: 20,
      RUNLEDGER_HEALTH_PORT: 9102,
    }));

  it('has what organisations get of the slots', () => {
    const [one, other, third] = [1, 2, 3].map((n) => `01920000-0000-7000-8000-00000000000${n}`) as [
      string,
      string,
      string,
    ];
    const weights = { RUNLEDGER_ORG_WEIGHTS: `${one}:3,${other}:0.5` };
    const sharesIn = (env: object) =>
      [one, other, third].map(shareOfIn(readSchedulerConfig({ ...weights, ...env })));
    const [least, half, usual] = [{ weight: 3 }, { weight: 0.5 }, { weight: 1 }];
    const limits = (...of: number[]) => [least, half, usual].map((share, n) => ({ ...share, limit: of[n] }));
    expect(sharesIn({})).toEqual(limits(Infinity, Infinity, Infinity));
    expect(sharesIn({ RUNLEDGER_ORG_LIMITS: `${one}:20` })).toEqual(limits(20, Infinity, Infinity));
    expect(sharesIn({ RUNLEDGER_ORG_LIMITS: `*:5,${one}:20` })).toEqual(limits(20, 5, 5));
  });

  it.each(['5', `${ORG}:0`, `${ORG}:0.5`, '**:5', '*:1000001'])(
    'refuses the limit %j, and says what is right',
    (text) =>
      expect(() => readSchedulerConfig({ RUNLEDGER_ORG_LIMITS: text })).toThrow(
        /RUNLEDGER_ORG_LIMITS.*the id of an organisation or \*, a colon and a number from 1 to/s,
      ),
  );

  it.each([
    '3',
    '*:3',
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
