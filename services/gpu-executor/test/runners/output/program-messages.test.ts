import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readMessages } from '../../../src/runners/output/message-lines.ts';
import {
  meansOutput,
  readMessage,
  type ProgramMessage,
  collectMessages,
} from '../../../src/runners/output/program-messages.ts';
import type { ProgressReport } from '../../../src/runners/runner.ts';

const read = (text: string, cut = false): ProgramMessage => readMessage({ text, cut, lines: [text] });
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
        line: '{"output": {"loss": 1e400}}',
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
    const long = read(JSON.stringify({ live_status: `x${'\u{1F600}'.repeat(150)}` }));
    expect(long.kind === 'report' && long.liveStatus).toBe(`x${'\u{1F600}'.repeat(99)}`);
  });

  it.each<[text: string, entries: [string, string[]][]]>([
    ['{"output": "a caption"}', [['text', ['a caption']]]],
    ['{"output": ["https://x.example/1.png"]}', [['urls', ['https://x.example/1.png']]]],
    ['{"output": {"text": {"deep": 1}}}', [['text', ['{"deep":1}']]]],
    [
      '{"output": {"boxes": [[1, 2], [3]], "none": null}}',
      [
        ['boxes', ['[1,2]', '[3]']],
        ['none', ['null']],
      ],
    ],
    ['{"output": {"json": {"label": "fox"}}}', [['json', ['{"label":"fox"}']]]],
    ['{"output": {"json": ["fox", [1]]}}', [['json', ['"fox"', '[1]']]]],
    ['{"output": null}', [['json', ['null']]]],
    ['{"output": 0.5}', [['json', ['0.5']]]],
    ['{"output": [1, "two", [3]]}', [['json', ['1', '"two"', '[3]']]]],
  ])('may have any JSON value as its output: %s', (text, output) => {
    expect(read(text)).toEqual({ kind: 'report', output });
  });

  it('keeps a number that JSON does not have as a word, and says so', () => {
    expect(
      read('{"output": {"scores": [0.91, NaN, -Infinity], "json": {"loss": NaN, "of": "a NaN"}}}'),
    ).toEqual({
      kind: 'report',
      output: [
        ['scores', ['0.91', 'NaN', '-Infinity']],
        ['json', ['{"loss":"NaN","of":"a NaN"}']],
      ],
      notice: expect.stringContaining('NaN or Infinity'),
    });
    expect(read('{"progress": NaN, "live_status": "half"}')).toEqual({ kind: 'report', liveStatus: 'half' });
  });

  it.each([
    '{"output": {"": "x"}}',
    `{"output": {"${'k'.repeat(65)}": "x"}}`,
    `{"output": ${'['.repeat(33)}${']'.repeat(33)}}`,
    '{"output": {"text": "he said "hi""}}',
    '{"progress": 0.5, "output": {"text": "a",}}',
    `{'output': {'text': ['a']}}`,
    `{ output: { text: 'a' } }`,
    '{"output": {"text": "a"}} and more',
    '\u001B[0m\u001B[1;32m{"output": "a"}',
    '\u200B{"output": "a"}',
    '\u001B{"output": "a"}',
    Buffer.from('\uFEFF{"output": "a"}', 'utf16le').toString(),
    Buffer.from(' {"output": "a"}', 'utf16le').toString(),
  ])('is reported, with its text, when its output cannot be kept: %s', (text) =>
    expect(read(text)).toMatchObject({ kind: 'bad_output', lost: { kind: 'invalid_output', line: text } }),
  );

  it('is a line of its log when it has an output behind other text, and the log says so', () => {
    expect(read('the answer: {"output": "x"}')).toEqual({
      kind: 'log',
      lines: ['the answer: {"output": "x"}'],
      notice: expect.stringContaining('no output of the run'),
    });
    expect(read(`{'instruction': 'say it', 'output': 'x'}`)).toEqual(log);
  });

  it('is a log line when it was cut, except an output', () => {
    expect(read('{"progress": 0.5', true)).toEqual(log);
    expect(read('{"output": {"text": "xxx', true)).toMatchObject({ kind: 'bad_output' });
  });

  it('parses without an exception for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), fc.boolean(), (text, cut) => {
        expect(['report', 'bad_output', 'log']).toContain(read(text, cut).kind);
      }),
    );
  });
});

describe('the output of a program', () => {
  const limit = 200;
  const written = (...chunks: string[]): ProgramMessage[] => {
    const messages: ProgramMessage[] = [];
    const reader = readMessages(limit, meansOutput, {
      take: (found) => void messages.push(readMessage(found)),
      draw: () => undefined,
    });
    for (const chunk of chunks) reader.chunk(Buffer.from(chunk));
    reader.end();
    return messages;
  };
  const report = { kind: 'report', output: [['text', ['a caption']]] };
  const said = { output: { text: ['a caption'] } };
  const lineOf = (text: string): object => ({ kind: 'log', lines: [text] });

  it.each([
    ['indented', `${JSON.stringify(said, null, 2)}\n`],
    ['indented, without an end of its last line', JSON.stringify(said, null, 4)],
    ['over several lines at the margin', '{"output":\n{"text":\n["a caption"]\n}\n}\n'.replace('\n{', ' {')],
    ['after a byte order mark', `\uFEFF${JSON.stringify(said)}\n`],
    ['with the line ends of Windows', `${JSON.stringify(said, null, 2).replaceAll('\n', '\r\n')}\r\n`],
    ['with a carriage return too many', `${JSON.stringify(said)}\r\r\n`],
    ['after a carriage return', `\r${JSON.stringify(said)}\n`],
  ])('is found %s', (_, text) => {
    expect(written(text)).toEqual([report]);
    expect(written(...text.split(/(?=.)/su))).toEqual([report]);
  });

  it('is found behind a bar that was drawn on its line, and before the next one', () => {
    const bars = '\rstep 1/3\rstep 2/3\rstep 3/3';
    expect(written(`${bars}${JSON.stringify(said)}\n`)).toEqual([lineOf('step 3/3'), report]);
    expect(written(`${JSON.stringify(said)}\rstep 1/3\n`)).toEqual([report, lineOf('step 1/3')]);
    expect(written(`${'\r50%'.repeat(100)}\r${JSON.stringify(said)}\n`)).toEqual([report]);
  });

  it('may be longer than a line as long as its lines are none of something else', () => {
    const one = '{"type": "step", "values": [';
    expect(written(`{\nLoading\n{\n${JSON.stringify(said)}\n{\n  "a": 1\n}\n${one}`)).toEqual([
      ...['{', 'Loading', '{'].map(lineOf),
      report,
      { kind: 'log', lines: ['{', '  "a": 1', '}'] },
      lineOf(one),
    ]);
  });

  it('is lost aloud when it does not come to its end, or is too long', () => {
    const [begun = ''] = JSON.stringify(said, null, 2).split(/\s+"a caption/);
    expect(written(`${begun}\nLoading\n`)).toMatchObject([
      { kind: 'bad_output', lost: { kind: 'invalid_output' } },
      lineOf('Loading'),
    ]);
    const long = JSON.stringify({ output: { text: Array.from({ length: 30 }, () => 'a caption') } }, null, 2);
    expect(written(long)[0]).toMatchObject({ kind: 'bad_output', lost: { kind: 'output_too_large' } });
    const inOneLine = JSON.stringify({ output: { text: ['x'.repeat(limit)] } }, null, 2);
    expect(written(inOneLine)[0]).toMatchObject({ kind: 'bad_output', lost: { kind: 'output_too_large' } });
  });

  it('does not depend on how the stream was cut into chunks, whatever is written', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '"output"',
      ':',
      '"a"',
      ',',
      '[',
      ']',
      '\n',
      '\r',
      ' ',
      'NaN',
      'x',
      '1',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (all) => {
        expect(written(...all)).toEqual(written(all.join('')));
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
    for (const text of lines) messages.take(read(text));
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
