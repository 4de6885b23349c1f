import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { openLogFile } from '../../src/supervision/log-file.ts';
import { readLines } from '../../src/supervision/read-lines.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

describe('a log file', () => {
  it('is appended to, and readable by this user only', () => {
    const path = join(temporaryFolder(), 'logs', 'gateway.log');
    for (const line of ['one', 'two']) {
      using log = openLogFile(path);
      log.write(line);
    }
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('keeps the latest lines in two files of bounded size', () => {
    const path = join(temporaryFolder(), 'gateway.log');
    using log = openLogFile(path, 40);
    for (let count = 10; count < 40; count += 1) log.write(`line ${count}`);
    expect(`${readFileSync(`${path}.1`, 'utf8')}${readFileSync(path, 'utf8')}`).toMatch(
      /line 38\nline 39\n$/,
    );
    for (const file of [path, `${path}.1`]) expect(statSync(file).size).toBeLessThanOrEqual(40);
  });

  it('that is full already is turned at the first line', () => {
    const path = join(temporaryFolder(), 'gateway.log');
    writeFileSync(path, 'x'.repeat(50));
    using log = openLogFile(path, 40);
    log.write('next');
    expect(readFileSync(path, 'utf8')).toBe('next\n');
  });
});

describe('lines of a stream', () => {
  const linesOf = async (...pieces: Buffer[]): Promise<string[]> => {
    const stream = new PassThrough();
    const lines: string[] = [];
    readLines(stream, (line) => lines.push(line));
    for (const piece of pieces) stream.write(piece);
    stream.end();
    await finished(stream);
    return lines;
  };

  it('are whole however they are cut, the last one without its end too', async () => {
    const bytes = Buffer.from('first\nsecond: é\n\nlast');
    const cutInside = bytes.indexOf(0xc3) + 1;
    expect(
      await linesOf(bytes.subarray(0, 3), bytes.subarray(3, cutInside), bytes.subarray(cutInside)),
    ).toEqual(['first', 'second: é', 'last']);
  });

  it('that never end are cut and fill no memory', async () => {
    const lines = await linesOf(
      ...Array.from({ length: 8 }, () => Buffer.alloc(100_000, 'x')),
      Buffer.from('\nnext\n'),
    );
    expect(lines.map(({ length }) => length)).toEqual([65_536, 4]);
  });
});
