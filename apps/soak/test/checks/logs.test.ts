import type { RunLogItem } from '@runledger/contracts/http/runs/run-logs';
import { assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { logs } from '../../src/checks/logs.ts';
import { aSoak, INPUTS, RUN } from '../fixtures/a-soak.ts';

const at = new Date(0).toISOString();
const line = (text: string, attempt = 1): RunLogItem => ({ at, attempt, stream: 'stdout', line: text });
const own = (number: number, attempt = 1): RunLogItem =>
  line(`${RUN.run_id}.${attempt} line ${number}`, attempt);

const messagesOf = (isKept: boolean, items: readonly RunLogItem[], status = 200): string[] => {
  const end = succeeded(RUN);
  const log_blob = { sha256: 'a'.repeat(64), bytes: 10 };
  const ended = isKept ? { ...end, data: { ...end.data, log_blob } } : end;
  const inputs = { ...INPUTS, lines: '3' };
  const events = [queued(RUN, { inputs }), assigned(RUN), started(RUN), ended];
  const shown = { gateway: 'gateway', run: RUN.run_id, status, items };
  return logs(aSoak({ events, logs: [shown] })).map(({ message }) => message);
};

describe('logs', () => {
  it('that are kept have every line', () => {
    expect(messagesOf(true, [own(1), own(2), own(3)])).toEqual([]);
    expect(messagesOf(true, [own(1), own(3)])).toEqual(['gateway shows 2 of 3 lines of attempt 1.']);
    expect(messagesOf(true, [], 404)).toEqual(['gateway answers 404 for the logs.']);
  });

  it('that are not kept may have lost some, and none twice', () => {
    expect(messagesOf(false, [own(2)])).toEqual([]);
    expect(messagesOf(false, [own(2), own(1)])).toHaveLength(1);
    expect(messagesOf(false, [own(2), own(2)])).toHaveLength(1);
  });

  it('have no lines of other runs and attempts', () => {
    expect(messagesOf(false, [line('another run line 1')])).toHaveLength(1);
    expect(messagesOf(false, [line(`${RUN.run_id}.2 line 1`)])).toHaveLength(1);
  });
});
