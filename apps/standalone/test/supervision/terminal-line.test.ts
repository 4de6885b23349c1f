import { describe, expect, it } from 'vitest';
import { terminalLine } from '../../src/supervision/terminal-line.ts';

const line = (record: object): string => JSON.stringify(record);

describe('a line of a service', () => {
  it.each(['trace', 'debug', 'info'])('at level %s is not shown', (level) => {
    expect(terminalLine('gateway', line({ level, msg: 'hello' }))).toBeUndefined();
  });

  it.each([
    [
      { level: 'warn', msg: 'not ready', why: 'the broker is unavailable' },
      'gateway warns: not ready (the broker is unavailable)',
    ],
    [
      { level: 'error', msg: 'it failed', err: { message: 'disk full' } },
      'gateway reports an error: it failed (disk full)',
    ],
    [
      { level: 'error', msg: 'it failed: disk full', err: { message: 'disk full' } },
      'gateway reports an error: it failed: disk full',
    ],
    [{ level: 'fatal' }, 'gateway reports an error: an empty message'],
  ])('%j has a short form', (record, shown) => {
    expect(terminalLine('gateway', line(record))).toBe(shown);
  });

  it('with a stack frame is not shown', () => {
    expect(terminalLine('gateway', '    at node:internal/main/run_main_module:33:47')).toBeUndefined();
  });

  it('that is not JSON is shown, shortened and without control characters', () => {
    expect(terminalLine('gateway', '\u001B[31mno\u0007 config')).toBe('gateway:  [31mno  config');
    expect(terminalLine('gateway', 'x'.repeat(9_000))?.length).toBeLessThan(600);
  });
});
