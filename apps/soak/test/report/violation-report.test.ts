import { describe, expect, it } from 'vitest';
import { violationsIn } from '../../src/checks/all-checks.ts';
import { violationReport } from '../../src/report/violation-report.ts';
import { aSoak, BEGUN_AT, EVENTS, second, wasQueued, wasShown } from '../fixtures/a-soak.ts';

const frame = { begunAt: BEGUN_AT, command: 'npm run soak -- --seed 7' };

describe('the story of a violation', () => {
  const evidence = aSoak({
    events: EVENTS,
    records: { exchanges: [wasQueued(1.1), wasShown(4.5, 3), wasShown(5, 2)] },
    faults: {
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
  const told = violationReport(violation, evidence, frame);

  it('says what was promised and what was seen instead', () => {
    expect(told).toContain('NOT KEPT: Reads never go back');
    expect(told).toContain('told less of its lifecycle');
  });

  it('tells in order what the log holds, what was seen and what was struck', () => {
    const words = [
      '1.000 s  log            1 RunQueued by test',
      '1.100 s  client         queue at http://127.0.0.1:1/api; after 100 ms: 200, run',
      '2.000 s  log            2 RunAssigned by test, attempt 1 on',
      '4.200 s  gateway-1      is paused',
      '4.500 s  client         get at http://127.0.0.1:1/api; after 100 ms: 200, running',
      '4.500 s  stream         told 4 RunSucceeded',
      '4.700 s  receiver       was told success (4) as final, and answered 200',
      '4.900 s  gateway-1      is back',
      '5.000 s  log            5 WebhookDelivered',
    ];
    const places = words.map((line) => told.indexOf(line));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
  });

  it('leaves out what was struck at another time', () => {
    expect(told).not.toContain('notifier-2');
  });

  it('that is none of a single run tells what was struck at that time', () => {
    const ended = { guarantee: 'No process ends by itself.', run: null, at: second(505), says: 'It ended.' };
    const about = violationReport(ended, evidence, frame);
    expect(about).toContain('500.000 s  notifier-2     is killed');
    expect(about).not.toContain('gateway-1');
  });

  it('says how to have the same again', () => {
    expect(told).toContain('npm run soak -- --seed 7');
  });
});
