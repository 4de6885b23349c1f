import { describe, expect, it } from 'vitest';
import { oomKillsIn } from '../../../src/runner/process-output/oom-kills.ts';
import { programError, type EndedProgram } from '../../../src/runner/process-output/program-error.ts';
import { hidingValues, shownStderr } from '../../../src/runner/process-output/shown-stderr.ts';

const after = (end: EndedProgram['end'], isMemoryShort = false, stderr = ''): unknown =>
  programError({ name: 'render', end, isMemoryShort, stderr });
const exit = (code: number): EndedProgram['end'] => ({ kind: 'exited', code, signal: null });
const killed = (signal: NodeJS.Signals): EndedProgram['end'] => ({ kind: 'exited', code: null, signal });

describe('the error of a program', () => {
  it('has its exit code, and the last lines of its standard error', () => {
    expect(after(exit(3), false, 'size is too large')).toEqual({
      message: 'The program render ended with exit code 3.\nsize is too large',
      kind: 'program_exit',
      exit_code: 3,
      retryable: true,
    });
    expect(after(exit(0))).toBeNull();
  });

  it('has the signal that ended it', () => {
    expect(after(killed('SIGSEGV'))).toMatchObject({ kind: 'program_signal', signal: 'SIGSEGV' });
    expect(after({ kind: 'unreported', why: 'its supervisor ended with SIGKILL' })).toMatchObject({
      kind: 'crashed',
    });
  });

  it.each([killed('SIGKILL'), exit(137)])(
    'says that memory was short when the kernel killed it: %j',
    (end) => {
      expect(after(end, true)).toMatchObject({ kind: 'out_of_memory' });
      expect(after(end, false)).not.toMatchObject({ kind: 'out_of_memory' });
    },
  );

  it.each([
    ['memory', 'out_of_memory', true],
    ['disk', 'limit_exceeded', false],
  ] as const)('says which limit it was killed for: %s', (resource, kind, retryable) => {
    expect(after({ kind: 'exceeded', exceeded: { resource, limitBytes: 4096 } })).toMatchObject({
      kind,
      retryable,
      message: expect.stringMatching(/^The program render was killed: .*4096 bytes .*EXECUTOR_RUN_/),
    });
  });

  it.each([
    ['SIGXCPU', 'EXECUTOR_RUN_CPU_S'],
    ['SIGXFSZ', 'EXECUTOR_RUN_DISK_BYTES'],
  ] as const)('says which limit the kernel ended it for: %s', (signal, setting) => {
    expect(after(killed(signal))).toMatchObject({
      kind: 'limit_exceeded',
      signal,
      message: expect.stringContaining(setting),
    });
  });

  it('is its own when another process was killed meanwhile', () => {
    expect(after(exit(1), true)).toMatchObject({ kind: 'program_exit' });
    expect(after(exit(0), true)).toBeNull();
  });

  it('counts the kills of the kernel', () => {
    expect(oomKillsIn('nr_free_pages 3\noom_kill 17\ndrop_pagecache 0\n')).toBe(17);
    expect(oomKillsIn('')).toBe(0);
  });
});

describe('the last lines of standard error', () => {
  const folders = {
    RUNLEDGER_INPUT_DIR: '/var/work/inputs',
    RUNLEDGER_OUTPUT_DIR: '/var/work/outputs',
    TMPDIR: '/var/work/tmp-1',
  };
  const shown = (tail: string, env: Record<string, string> = {}): string =>
    shownStderr(hidingValues({ env }, folders)(tail));

  it('are not empty, and whole as far as they fit', () => {
    expect(shown('one\n\n  \ntwo\n')).toBe('one\ntwo');
    expect(shown(`first\n${'x'.repeat(1_015)}\nlast`)).toBe(`${'x'.repeat(1_015)}\nlast`);
    expect(shown(`first\n${'x'.repeat(1_030)}\nlast`)).toBe('last');
  });

  it('are the end of a line that is too long, without a half character', () => {
    expect(shown('é'.repeat(2_000))).toBe('é'.repeat(512));
    expect(shown(`x${'😀'.repeat(300)}`)).toBe('😀'.repeat(256));
  });

  it('name folders of the executor and values of its operator instead of showing them', () => {
    const env = { TOKEN: 'hunter2-hunter2', LONG_TOKEN: 'hunter2-hunter2-more', DEPTH: '2' };
    expect(
      shown(
        '/var/work/tmp-1/a /var/work/inputs/c /var/work/outputs/b hunter2-hunter2 hunter2-hunter2-more 2',
        env,
      ),
    ).toBe('$TMPDIR/a $RUNLEDGER_INPUT_DIR/c $RUNLEDGER_OUTPUT_DIR/b $TOKEN $LONG_TOKEN 2');
  });
});
