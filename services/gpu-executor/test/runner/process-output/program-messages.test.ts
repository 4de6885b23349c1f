import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMessage } from '../../../src/runner/process-output/program-messages.ts';
import { collectMessages } from '../../../src/runner/process-output/collect-messages.ts';
import type { ProgressReport } from '../../../src/runner/runner.ts';

const read = (text: string, cut = false): unknown => readMessage({ text, cut });
const log = expect.objectContaining({ kind: 'log' });

describe('a line of a program', () => {
  it('may report progress, a status and outputs, together or alone', () => {
    expect(
      read('{"progress": 0.4, "live_status": "row 200/500", "output": {"text": "a", "n": [1, true]}}'),
    ).toEqual({
      kind: 'report',
      progress: 0.4,
      liveStatus: 'row 200/500',
      output: [
        ['text', ['a']],
        ['n', ['1', 'true']],
      ],
    });
    expect(read(' {"progress": 1} ')).toEqual({ kind: 'report', progress: 1 });
    expect(read('{"progress": 1.0}')).toEqual({ kind: 'report', progress: 1 });
  });

  it('has outputs with the digits that it has', () => {
    expect(read('{"output": {"ids": [9007199254740993, 18446744073709551615, 4.0, 1E5]}}')).toEqual({
      kind: 'report',
      output: [['ids', ['9007199254740993', '18446744073709551615', '4.0', '1E5']]],
    });
    expect(read('{"output": {"loss": 1e400}}')).toEqual({
      kind: 'bad_output',
      lost: {
        kind: 'invalid_output',
        why: 'in an {"output": …} line the number 1e400 is too large, beyond the range of a double',
      },
    });
  });

  it.each([
    '',
    'hello',
    '[1]',
    'null',
    '{"progress": 0.',
    '{"progress": 2}',
    '{"progress": "0.5"}',
    '{"progress": 1e999}',
    '{"other": 1}',
    '{}',
  ])('is a line of its log when it is "%s"', (text) => expect(read(text)).toEqual(log));

  it('keeps 200 characters of a status, without control characters and without half characters', () => {
    expect(read(JSON.stringify({ live_status: 'a\u0000b\n\u001B[31mc' }))).toMatchObject({
      liveStatus: 'a b [31mc',
    });
    const long = readMessage({
      text: JSON.stringify({ live_status: `x${'\u{1F600}'.repeat(150)}` }),
      cut: false,
    });
    expect(long.kind === 'report' && long.liveStatus).toBe(`x${'\u{1F600}'.repeat(99)}`);
  });

  it.each(['{"output": 1}', '{"output": {"text": {"deep": 1}}}', '{"output": {"": "x"}}', '{"output": [1]}'])(
    'is reported when its output is invalid: %s',
    (text) => expect(read(text)).toMatchObject({ kind: 'bad_output' }),
  );

  it('is a log line when it was cut, except an output', () => {
    expect(read('{"progress": 0.5', true)).toEqual(log);
    expect(read('{"output": {"text": "xxx', true)).toMatchObject({ kind: 'bad_output' });
  });

  it('parses without an exception for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.boolean(), (text, cut) => {
        expect(['report', 'bad_output', 'log']).toContain(readMessage({ text, cut }).kind);
      }),
    );
  });
});

describe('the messages of a program', () => {
  const collect = (...lines: string[]): { reports: ProgressReport[]; data: unknown; lost: string | null } => {
    const reports: ProgressReport[] = [];
    const messages = collectMessages(
      (report) => reports.push(report),
      () => undefined,
      100,
    );
    for (const text of lines) messages.take(readMessage({ text, cut: false }));
    return { reports, data: messages.data(), lost: messages.lost()?.why ?? null };
  };

  it('have a progress that never decreases', () => {
    expect(collect('{"progress": 0.5}', '{"progress": 0.2, "live_status": "again"}').reports).toEqual([
      { progress: 0.5, live_status: null },
      { progress: 0.5, live_status: 'again' },
    ]);
  });

  it('collect outputs by kind, also under names of Object members', () => {
    const { data } = collect(
      '{"output": {"__proto__": "a"}}',
      '{"output": {"__proto__": "b", "toString": "c"}}',
    );
    expect(JSON.stringify(data)).toBe('{"__proto__":["a","b"],"toString":["c"]}');
  });

  it('are bounded, and report what is lost', () => {
    const { data, lost } = collect(
      '{"output": {"text": "kept"}}',
      `{"output": {"text": "${'x'.repeat(100)}"}}`,
    );
    expect(data).toEqual({ text: ['kept'] });
    expect(lost).toContain('larger than');
  });
});
