import { aRun } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { attemptFiles, type AttemptFiles } from '../../../src/runs/attempts/attempt-files.ts';

const LIMITS = { files: 2, bytes: 100 };
const file = (path: string, bytes = 10, key = `key of ${path}`) => ({ path, bytes, key });
const store = (files: AttemptFiles, run = aRun(), paths: readonly string[] = ['a', 'b']) => {
  for (const path of paths) {
    files.begin(run, 1, file(path), LIMITS);
    files.commit(run, 1, file(path));
  }
  return run;
};

describe('the files of attempts', () => {
  it('have limits for each run: a full one refuses nothing to another', () => {
    const files = attemptFiles();
    const full = store(files);
    expect(files.begin(full, 1, file('c'), LIMITS)).toEqual({ kind: 'too_many_files' });
    expect(files.begin(aRun(), 1, file('c', 101), LIMITS)).toEqual({ kind: 'not_announced', bytes: 101 });
    expect(files.begin(aRun(), 1, file('c'), LIMITS)).toEqual({ kind: 'begun', left: [] });
  });

  it('are replaced by the upload that began last, and counted again after an interrupted one', () => {
    const files = attemptFiles();
    const run = store(files);
    files.begin(run, 1, file('a', 20, 'first'), LIMITS);
    files.begin(run, 1, file('a', 20, 'second'), LIMITS);
    expect(files.commit(run, 1, file('a', 20, 'first'))).toEqual({ kind: 'superseded' });
    expect(files.commit(run, 1, file('a', 20, 'second'))).toEqual({
      kind: 'committed',
      replaced: 'key of a',
    });
    const other = aRun();
    files.begin(other, 1, file('a', 90), LIMITS);
    files.release(other, 1, file('a', 90));
    expect(files.begin(other, 1, file('b', 90), LIMITS)).toMatchObject({ kind: 'begun' });
  });

  it('of a lost attempt are left to the next one, and it stores no more', () => {
    const files = attemptFiles();
    const run = store(files);
    expect(files.begin(run, 2, file('a'), LIMITS)).toEqual({ kind: 'begun', left: ['key of a', 'key of b'] });
    expect(files.begin(run, 1, file('a'), LIMITS)).toEqual({ kind: 'superseded' });
    expect(files.commit(run, 1, file('a'))).toEqual({ kind: 'superseded' });
  });

  it('that a gateway has forgotten are stored all the same', () => {
    expect(attemptFiles().commit(aRun(), 1, file('a'))).toEqual({ kind: 'committed', replaced: null });
  });
});
