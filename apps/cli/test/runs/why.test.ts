import { Capacity } from '@runledger/contracts/requests/queue-position';
import { describe, expect, it } from 'vitest';
import { RUN, aGateway } from '../fixtures/fake-gateway.ts';
import { cliAt } from '../fixtures/run-cli.ts';

const waiting = (changes: object = {}) => ({
  for_s: 12.4,
  reason: 'busy',
  not_before: null,
  sentence: 'waiting for an A10G (2 ahead)',
  ahead: 2,
  eta: null,
  eta_sentence: 'nobody can say yet',
  gpu: 'A10G',
  executors: { serving: 1, busy_slots: 2, free_slots: 0, draining: 1 },
  gives_up_at: '2026-05-01T13:00:00.000Z',
  ...changes,
});

const why = async (answer: object, ...args: string[]) => {
  const body = { run_id: RUN, status: 'queued', ...answer };
  const gateway = await aGateway({ status: 200, body });
  const result = await cliAt(gateway.url, 'rl_key')(['why', RUN, ...args]);
  return { ...result, body, requests: gateway.requests };
};

describe('runledger why', () => {
  it('explains why a run waits, and what would help', async () => {
    const { code, stdout, requests } = await why({ waiting: waiting() });
    expect([code, requests]).toMatchObject([0, [{ method: 'GET', path: `/api/run/${RUN}/waiting` }]]);
    expect(stdout).toBe(
      [
        `run          ${RUN}`,
        'why          waiting for an A10G (2 ahead)',
        'for          12 s',
        'ahead of it  2 runs',
        'starts       nobody can say yet',
        'executors    1 can run it, with 2 A10G slots busy and 0 free; 1 more is draining',
        'given up     at 2026-05-01T13:00:00.000Z, if it has not started by then',
        'next         it starts in turn; another executor would start it sooner',
        '',
      ].join('\n'),
    );
  });

  it('has a next step for every reason', async () => {
    const steps = [];
    for (const reason of Capacity.enum) {
      const { stdout } = await why({ waiting: waiting({ reason, ahead: 0, for_s: 7_500 }) });
      expect(stdout).toContain('for          2 h 5 min\nahead of it  0 runs\n');
      steps.push(/^next +(.*)$/m.exec(stdout)?.[1] ?? '');
    }
    expect(new Set(steps).size).toBe(Capacity.enum.length);
    expect(steps).not.toContain('');
  });

  it('shows the status of a run that is not waiting', async () => {
    expect((await why({ status: 'running', waiting: null })).stdout).toBe(
      `Run ${RUN} is not waiting. Its status is running. See more with: runledger get ${RUN}\n`,
    );
  });

  it('prints the answer with --json', async () => {
    const { stdout, body } = await why({ waiting: waiting() }, '--json');
    expect(JSON.parse(stdout)).toEqual(body);
  });
});
