import { describe, expect, it } from 'vitest';
import { violationsIn } from '../src/checks/all-checks.ts';
import { violationReport } from '../src/violation-report.ts';
import { aSoak, BEGUN_AT, EVENTS, second, wasQueued, wasShown } from './fixtures/a-soak.ts';

const context = { begunAt: BEGUN_AT, command: 'npm run soak -- --seed 7' };

describe('the report of a violation', () => {
  const evidence = aSoak({
    events: EVENTS,
    records: { exchanges: [wasQueued(1.1), wasShown(4.5, 3), wasShown(5, 2)] },
    faults: {
      missed: [],
      outages: [
        { part: 'gateway-1', role: 'gateway', kind: 'pause', from: second(4.2), to: second(4.9) },
        { part: 'notifier-2', role: 'notifier', kind: 'kill', from: second(500), to: second(501) },
      ],
      stops: [],
      unexpectedEnds: [],
    },
  });
  const [violation] = violationsIn(evidence);
  if (!violation) throw new Error('nothing is violated');
  const report = violationReport(violation, evidence, context);

  it('names the guarantee and what was seen instead', () => {
    expect(report).toContain('VIOLATED: Reads never go back');
    expect(report).toContain('showed less of its lifecycle');
  });

  it('shows facts, requests and faults in the order of time', () => {
    const lines = [
      '1.000 s  log            1 RunQueued by test',
      '1.100 s  client         queue at http://127.0.0.1:1/api; after 100 ms: 200, run',
      '2.000 s  log            2 RunAssigned by test, attempt 1 on',
      '4.200 s  gateway-1      is paused',
      '4.500 s  client         get at http://127.0.0.1:1/api; after 100 ms: 200, running',
      '4.500 s  stream         delivered 4 RunSucceeded',
      '4.700 s  receiver       received success (4) as final, and answered 200',
      '4.900 s  gateway-1      is back',
      '5.000 s  log            5 WebhookDelivered',
    ];
    const positions = lines.map((line) => report.indexOf(line));
    expect(positions).not.toContain(-1);
    expect(positions).toEqual(positions.toSorted((one, other) => one - other));
  });

  it('leaves out faults at another time', () => {
    expect(report).not.toContain('notifier-2');
  });

  it('shows the faults at the time of a violation without a run', () => {
    const ended = {
      guarantee: 'No process ends by itself.',
      run: null,
      at: second(505),
      message: 'It ended.',
    };
    const about = violationReport(ended, evidence, context);
    expect(about).toContain('500.000 s  notifier-2     is killed');
    expect(about).not.toContain('gateway-1');
  });

  it('shows the command that repeats the soak', () => {
    expect(report).toContain('npm run soak -- --seed 7');
  });
});
