import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_LOG_FILE_BYTES, openLogFile } from '../../src/supervision/log-file.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

describe('a log file', () => {
  it('is appended to, and readable only by its owner', () => {
    const path = join(temporaryFolder(), 'logs', 'gateway.log');
    for (const line of ['one', 'two']) {
      using log = openLogFile(path);
      log.write(line);
    }
    expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('keeps the latest lines in two files of limited size', () => {
    const path = join(temporaryFolder(), 'gateway.log');
    using log = openLogFile(path);
    const filler = '.'.repeat(MAX_LOG_FILE_BYTES / 4);
    for (let count = 10; count < 40; count += 1) {
      log.write(filler);
      log.write(`line ${count}`);
    }
    expect(`${readFileSync(`${path}.1`, 'utf8')}${readFileSync(path, 'utf8')}`).toMatch(
      /line 38\n\.+\nline 39\n$/,
    );
    for (const file of [path, `${path}.1`])
      expect(statSync(file).size).toBeLessThanOrEqual(MAX_LOG_FILE_BYTES);
  });

  it('is rotated at the first line if it is already full', () => {
    const path = join(temporaryFolder(), 'gateway.log');
    writeFileSync(path, 'x'.repeat(MAX_LOG_FILE_BYTES));
    using log = openLogFile(path);
    log.write('next');
    expect(readFileSync(path, 'utf8')).toBe('next\n');
  });
});
